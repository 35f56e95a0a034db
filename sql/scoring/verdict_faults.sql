-- Answers in which an extraction rule failed or found nothing in Python, as verdicts.
-- One row per such answer.
-- score is NULL; fault says what failed, detail which engine looked.
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
where
    piece.text is null
    and (piece.fault is not null or piece.note is not null)
