-- Answers in which an extraction rule failed, as verdicts.
-- One row per such answer.
-- score is NULL; fault says why.
-- Source: the table `piece`.
insert into verdict
select
    piece.row,
    null as score,
    null as extracted,
    null as extracted_by,
    piece.note as detail,
    piece.fault
from piece
where piece.fault is not null
