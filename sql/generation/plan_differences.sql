-- What keeps a plan from going on with a run: models, samples and inputs that are no longer what they were.
-- One row per model, sample or (prompt, sample) that differs, ordered by kind and by the plan's order.
-- old and new are identities; NULL new means that the plan lacks the sample; old_content is the row as it was.
-- Source: the tables planned and present, which the caller registers; samples of the run's dataset.
with changed_models as (
    select
        'model' as kind,
        planned.model as name,
        any_value(present.model_id) as old,
        any_value(planned.model_id) as new,
        min(planned.ordinal) as ordinal
    from planned
    inner join present on planned.model = present.model
    where planned.model_id <> present.model_id
    group by planned.model
),

changed_samples as (
    select
        'sample' as kind,
        planned.sample_id as name,
        any_value(present.sample_hash) as old,
        any_value(planned.sample_hash) as new,
        min(planned.ordinal) as ordinal
    from planned
    inner join present on planned.sample_id = present.sample_id
    where planned.sample_hash <> present.sample_hash
    group by planned.sample_id
),

lost_samples as (
    select
        'lost sample' as kind,
        present.sample_id as name,
        any_value(present.sample_hash) as old,
        null::varchar as new,
        0::bigint as ordinal
    from present
    anti join planned on present.sample_id = planned.sample_id
    group by present.sample_id
),

changed_inputs as (
    select
        'input' as kind,
        concat(planned.prompt, ' of sample ', planned.sample_id) as name,
        any_value(present.input_hash) as old,
        any_value(planned.input_hash) as new,
        min(planned.ordinal) as ordinal
    from planned
    inner join present
        on planned.model = present.model
        and planned.prompt = present.prompt
        and planned.sample_id = present.sample_id
        and planned.epoch = present.epoch
    where
        planned.input_hash <> present.input_hash
        and planned.sample_hash = present.sample_hash
    group by planned.prompt, planned.sample_id
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
