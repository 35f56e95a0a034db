-- Answers whose switch has no scorer, as verdicts.
-- One row per answered row of `subject`.
-- score is NULL; fault names the value.
-- Source: the view `subject`.
create or replace temp table verdict as
select
    subject.row,
    null::double as score,
    null::varchar as extracted,
    null::varchar as extracted_by,
    null::varchar as detail,
    coalesce('no case for `' || subject.switch || '`', 'the switch has no value') as fault
from subject
where subject.status = 'answered'
