-- Answers in which a search failed, as verdicts.
-- One row per such answer.
-- score is NULL; fault says why.
-- Source: the table `found`.
insert into verdict
select
    found.row,
    null as score,
    null as extracted,
    null as extracted_by,
    found.note as detail,
    found.fault
from found
where found.fault is not null
