-- The planned trials that the run $run_id has no answer for: missing, pending, or failed in a way that may pass.
-- One row per planned trial that is owed, in plan order.
-- is_added marks trials that the run does not have yet.
-- Source: the relations `planned`, `planned_entrant` and `planned_sample`; the stored table trials.
with present as (
    select
        planned_entrant.entrant,
        planned_sample.sample,
        trials.epoch,
        trials.status,
        trials.error_type
    from trials
    inner join planned_entrant
        on trials.model = planned_entrant.model
        and trials.prompt = planned_entrant.prompt
    inner join planned_sample on trials.sample_id = planned_sample.sample_id
    where trials.run_id = $run_id
)

select
    planned.ordinal,
    present.sample is null as is_added
from planned
left join present
    on planned.entrant = present.entrant
    and planned.sample = present.sample
    and planned.epoch = present.epoch
where
    present.sample is null
    or present.status in ('pending', 'skipped')
    or (present.status = 'error' and present.error_type not in ('over_context', 'filtered'))
order by planned.ordinal asc
