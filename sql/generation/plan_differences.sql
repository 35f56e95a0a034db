-- What keeps a plan from going on with the run $run_id: models, samples and inputs that are no longer what they were.
-- One row per model, sample or (prompt, sample) that differs, ordered by kind and by the plan's order.
-- old and new are identities; NULL new means that the plan lacks the sample; old_content is the row as it was.
-- Source: the relations `planned`, `planned_entrant` and `planned_sample`; the stored tables trials and samples.
with present as (
    select
        trials.model,
        trials.model_id,
        trials.prompt,
        trials.sample_id,
        trials.sample_hash,
        trials.epoch,
        trials.input_hash
    from trials
    where trials.run_id = $run_id
),

present_models as (
    select distinct
        present.model,
        present.model_id
    from present
),

present_samples as (
    select distinct
        present.sample_id,
        present.sample_hash
    from present
),

changed_models as (
    select
        'model' as kind,
        planned_entrant.model as name,
        any_value(present_models.model_id) as old,
        any_value(planned_entrant.model_id) as new,
        min(planned_entrant.entrant) as ordinal
    from planned_entrant
    inner join present_models on planned_entrant.model = present_models.model
    where planned_entrant.model_id <> present_models.model_id
    group by planned_entrant.model
),

changed_samples as (
    select
        'sample' as kind,
        planned_sample.sample_id as name,
        any_value(present_samples.sample_hash) as old,
        any_value(planned_sample.sample_hash) as new,
        min(planned_sample.sample) as ordinal
    from planned_sample
    inner join present_samples on planned_sample.sample_id = present_samples.sample_id
    where planned_sample.sample_hash <> present_samples.sample_hash
    group by planned_sample.sample_id
),

lost_samples as (
    select
        'lost sample' as kind,
        present_samples.sample_id as name,
        any_value(present_samples.sample_hash) as old,
        null::varchar as new,
        0 as ordinal
    from present_samples
    anti join planned_sample on present_samples.sample_id = planned_sample.sample_id
    group by present_samples.sample_id
),

changed_inputs as (
    select
        'input' as kind,
        concat(planned_entrant.prompt, ' of sample ', planned_sample.sample_id) as name,
        any_value(present.input_hash) as old,
        any_value(planned.input_hash) as new,
        min(planned.ordinal) as ordinal
    from present
    inner join planned_entrant
        on present.model = planned_entrant.model
        and present.prompt = planned_entrant.prompt
    inner join planned_sample
        on present.sample_id = planned_sample.sample_id
        and present.sample_hash = planned_sample.sample_hash
    inner join planned
        on planned_entrant.entrant = planned.entrant
        and planned_sample.sample = planned.sample
        and present.epoch = planned.epoch
    where present.input_hash <> planned.input_hash
    group by planned_entrant.prompt, planned_sample.sample_id
),

found as (
    from changed_models
    union all by name
    from changed_samples
    union all by name
    from lost_samples
    union all by name
    from changed_inputs
),

contents as (
    select
        samples.sample_hash,
        any_value(samples.content) as content
    from samples
    semi join changed_samples on samples.sample_hash = changed_samples.old
    where samples.dataset_id = $dataset_id
    group by samples.sample_hash
)

select
    found.kind,
    found.name,
    found.old,
    found.new,
    contents.content as old_content
from found
left join contents
    on found.old = contents.sample_hash
    and found.kind = 'sample'
order by
    found.kind = 'model' desc,
    found.kind = 'sample' desc,
    found.kind = 'lost sample' desc,
    found.ordinal asc,
    found.name asc
