-- Answers in which a search failed or found nothing in Python, as verdicts.
-- One row per such answer.
-- score is NULL; fault says what failed, detail which engine looked.
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
where
    found.text is null
    and (found.fault is not null or found.note is not null)
