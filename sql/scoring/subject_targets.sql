-- The different lists of targets of all answers, also of those that there are not.
-- One row per list.
-- NULL for samples without a target.
-- Source: the view `subject`.
select distinct subject.targets
from subject
