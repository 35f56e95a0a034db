-- Answers in which a search failed, or found nothing in Python.
-- One row per such answer.
-- fault says what failed, note which engine looked.
-- Source: the table `found`.
insert into noted
select
    found.row,
    found.note,
    found.fault
from found
where
    found.text is null
    and (found.fault is not null or found.note is not null)
