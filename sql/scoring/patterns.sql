-- The different patterns of the answers.
-- One row per pattern.
-- Never NULL.
-- Source: the view `subject`.
select distinct subject.pattern
from subject
where
    subject.pattern is not null
    and subject.status = 'answered'
order by subject.pattern asc
