-- Grades whose scorer or task is not defined, and runs whose dataset is not stored.
-- One row per (missing, id).
-- missing is scorer, dataset or task; id is what is missing; n counts runs.
-- Source: scores and manifests against scorers, samples and tasks.
with named as (
    select
        'scorer' as missing,
        scores.scorer_id as id,
        scores.run_id
    from scores
    anti join scorers on scores.scorer_id = scorers.scorer_id
    union
    select
        'dataset' as missing,
        manifests.dataset_id as id,
        manifests.run_id
    from manifests
    anti join samples on manifests.dataset_id = samples.dataset_id
    where manifests.dataset_id is not null
    union
    select
        'task' as missing,
        scores.task as id,
        scores.run_id
    from scores
    anti join tasks on scores.task = tasks.task
)

select
    named.missing,
    named.id,
    count(*) as n
from named
group by
    named.missing,
    named.id
order by
    named.missing asc,
    named.id asc
