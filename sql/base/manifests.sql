-- What each run was asked to do and with what: the manifests, typed.
-- One row per run_id.
-- *_at in UTC; elapsed_s in seconds over all invocations; NULL where the manifest says nothing.
-- Source: runs/<run_id>.json; the types of its keys are stated here and nowhere else.
create or replace table manifests as
with parsed as (
    select
        from_json(
            stored.body,
            '{
                "run_id": "VARCHAR", "task": "VARCHAR", "name": "VARCHAR", "description": "VARCHAR",
                "tags": ["VARCHAR"], "status": "VARCHAR", "aborted_reason": "VARCHAR",
                "spec_id": "VARCHAR", "plan_id": "VARCHAR", "dataset_id": "VARCHAR",
                "models": "JSON", "prompts": "JSON", "scorers": "JSON", "primary": "VARCHAR",
                "unanswered": "VARCHAR", "epochs": "BIGINT", "seed": "BIGINT", "selection": "JSON",
                "is_limited": "BOOLEAN", "n_samples": "BIGINT", "n_selected_of": "BIGINT",
                "n_trials": "BIGINT", "started_at": "TIMESTAMPTZ", "ended_at": "TIMESTAMPTZ",
                "elapsed_s": "DOUBLE", "versions": "JSON",
                "git": {"sha": "VARCHAR", "is_dirty": "BOOLEAN"},
                "refresh": "BOOLEAN", "spec": {"dataset": {"category": "VARCHAR", "cluster": "VARCHAR"}}, "host": "VARCHAR", "pid": "BIGINT"
            }'
        ) as manifest
    from stored_manifests as stored
)

select
    parsed.manifest.run_id as run_id,
    parsed.manifest.task as task,
    parsed.manifest.name as name,
    parsed.manifest.description as description,
    coalesce(parsed.manifest.tags, []) as tags,
    parsed.manifest.status as status,
    parsed.manifest.aborted_reason as aborted_reason,
    parsed.manifest.spec_id as spec_id,
    parsed.manifest.plan_id as plan_id,
    parsed.manifest.dataset_id as dataset_id,
    parsed.manifest.models as models,
    parsed.manifest.prompts as prompts,
    parsed.manifest.scorers as scorers,
    parsed.manifest."primary" as primary_scorer,
    parsed.manifest.unanswered as unanswered,
    coalesce(parsed.manifest.epochs, 1) as epochs,
    parsed.manifest.spec.dataset.category is not null as is_categorised,
    parsed.manifest.spec.dataset.cluster is not null as is_clustered,
    parsed.manifest.seed as seed,
    parsed.manifest.selection as selection,
    coalesce(parsed.manifest.is_limited, false) as is_limited,
    parsed.manifest.n_samples as n_samples,
    parsed.manifest.n_selected_of as n_selected_of,
    parsed.manifest.n_trials as n_trials,
    parsed.manifest.started_at as started_at,
    parsed.manifest.ended_at as ended_at,
    parsed.manifest.elapsed_s as elapsed_s,
    parsed.manifest.versions as versions,
    parsed.manifest.git.sha as git_sha,
    parsed.manifest.git.is_dirty as is_git_dirty,
    coalesce(parsed.manifest.refresh, false) as is_refresh,
    parsed.manifest.host as host,
    parsed.manifest.pid as pid
from parsed
where is_by_then(parsed.manifest.run_id);

comment on table manifests is 'What each run was asked to do and with what: the manifests, typed.';
comment on column manifests.run_id is 'Identity of the run: time, name and six hex digits.';
comment on column manifests.task is 'Name of the spec; groups runs on a leaderboard.';
comment on column manifests.name is 'Name that the run_id carries.';
comment on column manifests.description is 'The spec''s own description; NULL if it has none.';
comment on column manifests.tags is 'Tags given to the run; an empty list if none.';
comment on column manifests.status is 'running, complete, incomplete, aborted or interrupted.';
comment on column manifests.aborted_reason is 'Why the run was aborted; NULL otherwise.';
comment on column manifests.spec_id is 'Identity of everything that can change a number.';
comment on column manifests.plan_id is 'Identity of task, prompts, request block and selection.';
comment on column manifests.dataset_id is 'Identity of the whole dataset, before selection.';
comment on column manifests.models is 'JSON list of the models with their parameters.';
comment on column manifests.prompts is 'JSON object: prompt name to prompt_id.';
comment on column manifests.scorers is 'JSON object: scorer name to scorer_id, when the run was made.';
comment on column manifests.primary_scorer is 'Name of the primary scorer, when the run was made.';
comment on column manifests.unanswered is 'Policy for unanswered trials, when the run was made: wrong or exclude.';
comment on column manifests.epochs is 'Times that each sample is asked.';
comment on column manifests.is_categorised is 'Whether the spec names a category column.';
comment on column manifests.is_clustered is 'Whether the spec names a column whose equal values are not independent.';
comment on column manifests.seed is 'Seed of the selection; NULL if nothing was drawn.';
comment on column manifests.selection is 'JSON object: limit, sample, seed, cases, where.';
comment on column manifests.is_limited is 'Whether the command narrowed the samples.';
comment on column manifests.n_samples is 'Samples selected.';
comment on column manifests.n_selected_of is 'Samples in the whole dataset.';
comment on column manifests.n_trials is 'Trials planned.';
comment on column manifests.started_at is 'Start of the first invocation, UTC.';
comment on column manifests.ended_at is 'End of the last invocation, UTC; NULL while it runs.';
comment on column manifests.elapsed_s is 'Seconds, summed over all invocations.';
comment on column manifests.versions is 'JSON object: package to version.';
comment on column manifests.git_sha is 'Commit of the checkout that holds the spec; NULL outside of one.';
comment on column manifests.is_git_dirty is 'Whether tracked files of it were changed.';
comment on column manifests.is_refresh is 'Whether the run takes only answers newer than its start.';
comment on column manifests.host is 'Host that generated.';
comment on column manifests.pid is 'Process that generated.';
