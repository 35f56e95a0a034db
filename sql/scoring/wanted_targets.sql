-- The different lists of targets that answers are compared with.
-- One row per list.
-- Never NULL.
-- Source: the view `subject`.
select distinct subject.targets
from subject
where
    subject.targets is not null
    and subject.status = 'answered'
