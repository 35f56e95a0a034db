-- The targets as texts are compared with them, after the steps that SQL takes.
-- One row per list of targets.
-- keys are what an answer must equal or hold, n_needed how many of them.
-- Source: the view `subject` and the macro `normal_text`.
create or replace temp table wanted as
with different as (
    select distinct subject.targets
    from subject
    where
        subject.targets is not null
        and subject.status = 'answered'
)

select
    different.targets,
    list_transform(
        different.targets, lambda target: normal_text(target, $is_lower, $is_collapsed, $is_stripped)
    ) as keys,
    case when $is_every then len(different.targets) else 1 end as n_needed,
    false as is_percent,
    null::varchar as fault
from different
