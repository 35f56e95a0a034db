-- Runs that may show an entrant on its task's board, decided from manifests alone, so that no other run is read.
-- One row per (task, model, prompt, run_id); most entrants have one.
-- A sure run covers the reference by construction: same plan, dataset and scorers, and complete. Others are compared row by row.
-- Source: `manifests`; the reference is the task's newest complete unlimited run, else its newest.
create or replace table board_candidates as
with reference as (
    select
        manifests.task,
        manifests.run_id,
        manifests.plan_id,
        manifests.dataset_id,
        manifests.scorers,
        manifests.epochs,
        manifests.n_samples
    from manifests
    qualify row_number() over (
        partition by manifests.task
        order by
            coalesce(manifests.status = 'complete' and not manifests.is_limited, false) desc,
            manifests.started_at desc nulls last,
            manifests.run_id desc
    ) = 1
),

entrant as (
    select
        manifests.task,
        manifests.run_id,
        manifests.started_at,
        manifests.epochs,
        run_models.model,
        unnest(json_keys(manifests.prompts)) as prompt,
        manifests.run_id = reference.run_id as is_reference,
        manifests.run_id = reference.run_id or coalesce(
            manifests.plan_id = reference.plan_id
            and manifests.dataset_id = reference.dataset_id
            and manifests.scorers = reference.scorers
            and manifests.status = 'complete'
            and manifests.epochs >= reference.epochs,
            false
        ) as is_sure,
        coalesce(
            manifests.n_samples * manifests.epochs >= 0.95 * reference.n_samples * reference.epochs,
            true
        ) as may_cover
    from manifests
    inner join reference
        on manifests.task = reference.task
    inner join run_models
        on manifests.run_id = run_models.run_id
),

aged as (
    select
        entrant.*,
        row_number() over newest_first as age,
        count(*) filter (where entrant.is_sure) over newest_first as n_sure
    from entrant
    window newest_first as (
        partition by entrant.task, entrant.model, entrant.prompt
        order by entrant.started_at desc nulls last, entrant.run_id desc
        rows unbounded preceding
    )
)

select
    aged.task,
    aged.model,
    aged.prompt,
    aged.run_id,
    aged.started_at,
    aged.epochs,
    aged.is_reference,
    aged.is_sure
from aged
where
    aged.age = 1
    or aged.is_reference
    or (aged.is_sure and aged.n_sure = 1)
    or (not aged.is_sure and aged.may_cover and aged.n_sure = 0);
