-- Scorers that each task named, in every version of its grading.
-- One row per (task, n, scorer).
-- n counts the versions of the task from 1; the highest n is current.
-- Source: tasks/<task>.<n>.json.
create or replace table tasks as
with versions as (
    select
        stored.body ->> '$.task' as task,
        cast(stored.body ->> '$.n' as bigint) as n,
        stored.body ->> '$.primary' as primary_scorer,
        coalesce(stored.body ->> '$.unanswered', 'wrong') as unanswered,
        from_json(stored.body -> '$.scorers', '"MAP(VARCHAR, VARCHAR)"') as scorers
    from stored_tasks as stored
),

listed as (
    select
        versions.task,
        versions.n,
        versions.primary_scorer,
        versions.unanswered,
        generate_subscripts(map_keys(versions.scorers), 1) as position,
        unnest(map_entries(versions.scorers)) as entry
    from versions
)

select
    listed.task,
    listed.n,
    listed.position,
    listed.entry.key as scorer,
    listed.entry.value as scorer_id,
    listed.entry.key = listed.primary_scorer as is_primary,
    listed.unanswered
from listed;

comment on table tasks is 'Scorers that each task named, in every version of its grading.';
comment on column tasks.task is 'Name of the spec.';
comment on column tasks.n is 'Version of the task''s grading, from 1.';
comment on column tasks.position is 'Place of the scorer in the spec, from 1.';
comment on column tasks.scorer is 'Name of the scorer.';
comment on column tasks.scorer_id is 'Identity of its whole definition.';
comment on column tasks.is_primary is 'Whether it ranks the leaderboard.';
comment on column tasks.unanswered is 'Policy for unanswered trials: wrong or exclude.';
