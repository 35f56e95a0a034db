-- Trials that a run holds and that the plan now asks in another way.
-- One row per changed trial of the run, with what differs, old and new.
-- A NULL pair means that this part is equal.
-- Source: the relations `planned` (the plan) and `present` (the run's trials so far).
select
    planned.model,
    planned.prompt,
    planned.sample_id,
    planned.epoch,
    case when planned.sample_hash <> present.sample_hash then present.sample_hash end as old_sample_hash,
    case when planned.sample_hash <> present.sample_hash then planned.sample_hash end as new_sample_hash,
    case when planned.input_hash <> present.input_hash then present.input_hash end as old_input_hash,
    case when planned.input_hash <> present.input_hash then planned.input_hash end as new_input_hash,
    case when planned.model_id <> present.model_id then present.model_id end as old_model_id,
    case when planned.model_id <> present.model_id then planned.model_id end as new_model_id
from planned
inner join present
    on planned.model = present.model
    and planned.prompt = present.prompt
    and planned.sample_id = present.sample_id
    and planned.epoch = present.epoch
where
    planned.input_hash <> present.input_hash
    or planned.model_id <> present.model_id
    or planned.sample_hash <> present.sample_hash
order by planned.ordinal asc
