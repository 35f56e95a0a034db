-- Answers whose switch has no scorer.
-- One row per row of `subject`.
-- fault names the value.
-- Source: the view `subject`.
insert into noted
select
    subject.row,
    null as note,
    coalesce('no case for `' || subject.switch || '`', 'the switch has no value') as fault
from subject
