-- Answers in which Python found nothing to judge, with what it says of them.
-- One row per such answer.
-- fault is NULL.
-- Source: the table `verdict`.
insert into noted
select
    verdict.row,
    verdict.detail as note,
    null as fault
from verdict
where
    verdict.score is null
    and verdict.fault is null
    and verdict.detail is not null
