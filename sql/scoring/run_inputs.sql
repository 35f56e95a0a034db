-- What a scorer needs of each sample of a run: those that SQL took from the dataset's rows, and the rendered ones.
-- One row per (sample_id, choice_order).
-- NULL targets mean that the sample has none; target is what is stored, a JSON list of several.
-- Source: the table `asked_input` and the relation `rendered_input`.
create or replace temp table run_input as
with known as (
    select
        asked_input.sample_id,
        asked_input.choice_order,
        asked_input.targets,
        null::varchar[] as choices,
        null::varchar as pattern
    from asked_input
    where asked_input.content is null
    union all
    select
        rendered_input.sample_id,
        rendered_input.choice_order,
        rendered_input.targets,
        rendered_input.choices,
        rendered_input.pattern
    from rendered_input
)

select
    row_number() over () as number,
    known.sample_id,
    known.choice_order,
    case when len(known.targets) > 0 then known.targets end as targets,
    case
        when len(known.targets) = 1 then known.targets[1]
        else to_json(known.targets)::varchar
    end as target,
    known.choices,
    known.pattern
from known
