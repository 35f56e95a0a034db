-- Grades of one sample by one definition, over its epochs.
-- One row per (run_id, model, prompt, scorer, scorer_id, metric, sample_id).
-- score is the mean of the epochs that count; NULL if none does. Counts are of epochs.
-- Source: stored scores and the policy of `definitions`; sums are exact.
create or replace view sample_scores as
with counted as not materialized (
    select
        scores.run_id,
        scores.task,
        definitions.scorer,
        scores.scorer_id,
        scores.metric,
        scores.model,
        scores.prompt,
        scores.sample_id,
        scores.outcome,
        scores.target,
        scores.score as raw_score,
        scores.is_pass,
        counted_score(scores.score, scores.outcome, definitions.unanswered_score) as score,
        bound_score(
            scores.score, scores.outcome, definitions.unanswered_score, definitions.worst_score
        ) as low_score,
        bound_score(
            scores.score, scores.outcome, definitions.unanswered_score, definitions.best_score
        ) as high_score
    from scores
    inner join definitions
        on scores.task = definitions.task
        and scores.scorer_id = definitions.scorer_id
),

asked_once as (
    select manifests.run_id
    from manifests
    where manifests.epochs = 1
),

asked_again as (
    select manifests.run_id
    from manifests
    where manifests.epochs > 1
)

select
    counted.run_id,
    counted.task,
    counted.scorer,
    counted.scorer_id,
    counted.metric,
    counted.model,
    counted.prompt,
    counted.sample_id,
    counted.score,
    counted.raw_score as answered_score,
    1 as n,
    cast(counted.score is not null as bigint) as n_counted,
    cast(counted.raw_score is not null as bigint) as n_scored,
    cast(coalesce(counted.is_pass, false) as bigint) as n_pass,
    cast(counted.raw_score is null and is_unanswered(counted.outcome) as bigint) as n_unanswered,
    cast(is_failure(counted.outcome) as bigint) as n_errors,
    cast(counted.outcome = 'no_target' as bigint) as n_no_target,
    cast(counted.outcome in ('pending', 'skipped') as bigint) as n_pending,
    counted.low_score,
    counted.high_score,
    counted.target
from counted
semi join asked_once
    on counted.run_id = asked_once.run_id
union all
select
    counted.run_id,
    counted.task,
    counted.scorer,
    counted.scorer_id,
    counted.metric,
    counted.model,
    counted.prompt,
    counted.sample_id,
    exact_sum(counted.score) / nullif(count(counted.score), 0) as score,
    exact_sum(counted.raw_score) / nullif(count(counted.raw_score), 0) as answered_score,
    count(*) as n,
    count(counted.score) as n_counted,
    count(counted.raw_score) as n_scored,
    count(*) filter (where counted.is_pass) as n_pass,
    count(*) filter (where counted.raw_score is null and is_unanswered(counted.outcome)) as n_unanswered,
    count(*) filter (where is_failure(counted.outcome)) as n_errors,
    count(*) filter (where counted.outcome = 'no_target') as n_no_target,
    count(*) filter (where counted.outcome in ('pending', 'skipped')) as n_pending,
    case
        when count(counted.low_score) = count(*) filter (where counted.outcome <> 'no_target')
            then exact_sum(counted.low_score) / nullif(count(counted.low_score), 0)
    end as low_score,
    case
        when count(counted.high_score) = count(*) filter (where counted.outcome <> 'no_target')
            then exact_sum(counted.high_score) / nullif(count(counted.high_score), 0)
    end as high_score,
    min(counted.target) as target
from counted
semi join asked_again
    on counted.run_id = asked_again.run_id
group by
    counted.run_id,
    counted.task,
    counted.scorer,
    counted.scorer_id,
    counted.metric,
    counted.model,
    counted.prompt,
    counted.sample_id;
