-- Runs of each entrant in order, with the one before.
-- One row per (task, model, prompt, run_id).
-- run_no counts from 1; previous_run_id is NULL for the first. step_no numbers all rows: the one before has step_no - 1.
-- Source: manifests alone, so that it costs nothing to know which runs a question is about.
create or replace table entrant_runs as
with entrant as (
    select
        manifests.task,
        manifests.run_id,
        manifests.started_at,
        run_models.model,
        unnest(json_keys(manifests.prompts)) as prompt
    from manifests
    inner join run_models
        on manifests.run_id = run_models.run_id
)

select
    entrant.task,
    entrant.model,
    entrant.prompt,
    entrant.run_id,
    entrant.started_at,
    row_number() over in_order as run_no,
    lag(entrant.run_id) over in_order as previous_run_id,
    row_number() over (
        order by
            entrant.task asc,
            entrant.model asc,
            entrant.prompt asc,
            entrant.started_at asc nulls first,
            entrant.run_id asc
    ) as step_no
from entrant
window in_order as (
    partition by entrant.task, entrant.model, entrant.prompt
    order by entrant.started_at asc nulls first, entrant.run_id asc
);
