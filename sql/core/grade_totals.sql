-- Grades of an entrant in a run by one definition, summed over samples.
-- One row per (run_id, model, prompt, scorer, scorer_id, metric): every definition that graded the run.
-- Means weigh each sample once, whatever its epochs; stderr by clusters where the run has them.
-- Source: sample_scores; clustered standard error as in the macro `clustered_stderr`.
create or replace view grade_totals as
with asked_once as (
    select manifests.run_id
    from manifests
    where manifests.epochs = 1
),

asked_again as (
    select manifests.run_id
    from manifests
    where manifests.epochs > 1
),

clustered_run as (
    select manifests.run_id
    from manifests
    where manifests.is_clustered
),

sample_cluster as (
    select
        trials.run_id,
        trials.task,
        trials.sample_id,
        min(trials.cluster) as cluster
    from trials
    semi join clustered_run
        on trials.run_id = clustered_run.run_id
    where trials.cluster is not null
    group by
        trials.run_id,
        trials.task,
        trials.sample_id
),

cluster_score as (
    select
        sample_scores.run_id,
        sample_scores.model,
        sample_scores.prompt,
        sample_scores.scorer,
        sample_scores.scorer_id,
        sample_scores.metric,
        exact_sum(sample_scores.score) as score,
        count(*) as size
    from sample_scores
    semi join clustered_run
        on sample_scores.run_id = clustered_run.run_id
    left join sample_cluster
        on sample_scores.run_id = sample_cluster.run_id
        and sample_scores.task = sample_cluster.task
        and sample_scores.sample_id = sample_cluster.sample_id
    where sample_scores.score is not null
    group by
        sample_scores.run_id,
        sample_scores.model,
        sample_scores.prompt,
        sample_scores.scorer,
        sample_scores.scorer_id,
        sample_scores.metric,
        coalesce('c' || sample_cluster.cluster, 's' || sample_scores.sample_id)
),

cluster_total as (
    select
        cluster_score.run_id,
        cluster_score.model,
        cluster_score.prompt,
        cluster_score.scorer,
        cluster_score.scorer_id,
        cluster_score.metric,
        count(*) as n_clusters,
        exact_sum(cluster_score.score * cluster_score.score) as score_squares,
        exact_sum(cluster_score.score * cluster_score.size) as score_sizes,
        cast(sum(cluster_score.size * cluster_score.size) as bigint) as size_squares
    from cluster_score
    group by
        cluster_score.run_id,
        cluster_score.model,
        cluster_score.prompt,
        cluster_score.scorer,
        cluster_score.scorer_id,
        cluster_score.metric
),

value_count as (
    select
        scores.run_id,
        scores.task,
        scores.model,
        scores.prompt,
        scores.scorer_id,
        scores.metric,
        scores.score,
        scores.outcome,
        scores.is_pass,
        count(*) as n
    from scores
    semi join asked_once
        on scores.run_id = asked_once.run_id
    group by
        scores.run_id,
        scores.task,
        scores.model,
        scores.prompt,
        scores.scorer_id,
        scores.metric,
        scores.score,
        scores.outcome,
        scores.is_pass
),

unit as (
    select
        value_count.run_id,
        value_count.task,
        value_count.model,
        value_count.prompt,
        definitions.scorer,
        value_count.scorer_id,
        value_count.metric,
        value_count.n as weight,
        counted_score(value_count.score, value_count.outcome, definitions.unanswered_score) as score,
        value_count.score as answered_score,
        bound_score(
            value_count.score, value_count.outcome, definitions.unanswered_score, definitions.worst_score
        ) as low_score,
        bound_score(
            value_count.score, value_count.outcome, definitions.unanswered_score, definitions.best_score
        ) as high_score,
        value_count.n,
        case
            when value_count.score is not null then value_count.n
            when is_unanswered(value_count.outcome) and definitions.unanswered_score is not null
                then value_count.n
            else 0
        end as n_counted,
        case when value_count.score is null then 0 else value_count.n end as n_scored,
        case when value_count.is_pass then value_count.n else 0 end as n_pass,
        case
            when value_count.score is null and is_unanswered(value_count.outcome) then value_count.n
            else 0
        end as n_unanswered,
        case when is_failure(value_count.outcome) then value_count.n else 0 end as n_errors,
        case when value_count.outcome = 'no_target' then value_count.n else 0 end as n_no_target,
        case when value_count.outcome in ('pending', 'skipped') then value_count.n else 0 end as n_pending
    from value_count
    inner join definitions
        on value_count.task = definitions.task
        and value_count.scorer_id = definitions.scorer_id
    union all
    select
        sample_scores.run_id,
        sample_scores.task,
        sample_scores.model,
        sample_scores.prompt,
        sample_scores.scorer,
        sample_scores.scorer_id,
        sample_scores.metric,
        1 as weight,
        sample_scores.score,
        sample_scores.answered_score,
        sample_scores.low_score,
        sample_scores.high_score,
        sample_scores.n,
        sample_scores.n_counted,
        sample_scores.n_scored,
        sample_scores.n_pass,
        sample_scores.n_unanswered,
        sample_scores.n_errors,
        sample_scores.n_no_target,
        sample_scores.n_pending
    from sample_scores
    semi join asked_again
        on sample_scores.run_id = asked_again.run_id
),

total as (
    select
        unit.run_id,
        unit.task,
        unit.model,
        unit.prompt,
        unit.scorer,
        unit.scorer_id,
        unit.metric,
        cast(coalesce(sum(unit.weight) filter (where unit.score is not null), 0) as bigint) as n_samples,
        cast(sum(unit.n) as bigint) as n,
        cast(sum(unit.n_counted) as bigint) as n_counted,
        cast(sum(unit.n_scored) as bigint) as n_scored,
        cast(sum(unit.n_pass) as bigint) as n_pass,
        cast(sum(unit.n_unanswered) as bigint) as n_unanswered,
        cast(sum(unit.n_errors) as bigint) as n_errors,
        cast(sum(unit.n_no_target) as bigint) as n_no_target,
        cast(sum(unit.n_pending) as bigint) as n_pending,
        exact_sum(unit.score * unit.weight) as score_sum,
        exact_sum(unit.score * unit.score * unit.weight) as score_squares,
        min(unit.score) as min_score,
        max(unit.score) as max_score,
        bool_and(unit.score in (0, 1)) as is_binary,
        weighted_mean(unit.answered_score, unit.weight) as mean_answered,
        case
            when bool_and(unit.low_score is not null or unit.n = unit.n_no_target)
                then weighted_mean(unit.low_score, unit.weight)
        end as mean_worst,
        case
            when bool_and(unit.high_score is not null or unit.n = unit.n_no_target)
                then weighted_mean(unit.high_score, unit.weight)
        end as mean_best
    from unit
    group by
        unit.run_id,
        unit.task,
        unit.model,
        unit.prompt,
        unit.scorer,
        unit.scorer_id,
        unit.metric
),

measured as (
    select
        total.run_id,
        total.task,
        total.model,
        total.prompt,
        total.scorer,
        total.scorer_id,
        total.metric,
        total.n_samples,
        cluster_total.n_clusters,
        total.n,
        total.n_counted,
        total.n_scored,
        total.n_pass,
        total.n_unanswered,
        total.n_errors,
        total.n_no_target,
        total.n_pending,
        total.score_sum / nullif(total.n_samples, 0) as mean,
        total.mean_answered,
        total.mean_worst,
        total.mean_best,
        total.is_binary,
        case
            when coalesce(cluster_total.n_clusters, total.n_samples) < 2 then null
            when total.min_score = total.max_score then 0.0
            when cluster_total.n_clusters is not null
                then clustered_stderr(
                    cluster_total.n_clusters,
                    total.n_samples,
                    total.score_sum,
                    cluster_total.score_squares,
                    cluster_total.score_sizes,
                    cluster_total.size_squares
                )
            else clustered_stderr(
                total.n_samples,
                total.n_samples,
                total.score_sum,
                total.score_squares,
                total.score_sum,
                total.n_samples
            )
        end as stderr
    from total
    left join cluster_total
        on total.run_id = cluster_total.run_id
        and total.model = cluster_total.model
        and total.prompt = cluster_total.prompt
        and total.scorer = cluster_total.scorer
        and total.scorer_id = cluster_total.scorer_id
        and total.metric = cluster_total.metric
)

select
    measured.run_id,
    measured.task,
    measured.model,
    measured.prompt,
    measured.scorer,
    measured.scorer_id,
    definitions.scorer_version,
    definitions.recency,
    definitions.is_current,
    definitions.is_primary,
    definitions.position,
    definitions.score_min,
    definitions.score_max,
    definitions.higher_is_better,
    definitions.unanswered_score,
    measured.metric,
    row_number() over (
        partition by
            measured.task,
            measured.run_id,
            measured.model,
            measured.prompt,
            measured.scorer,
            measured.scorer_id
        order by
            measured.metric <> 'score' asc,
            measured.metric asc
    ) = 1 as is_first_metric,
    measured.n_samples,
    measured.n_clusters,
    measured.n,
    measured.n_counted,
    measured.n_scored,
    measured.n_pass,
    measured.n_unanswered,
    measured.n_errors,
    measured.n_no_target,
    measured.n_pending,
    measured.mean,
    measured.stderr,
    mean_interval(
        measured.mean,
        measured.stderr,
        measured.is_binary,
        measured.n_samples,
        measured.n_clusters,
        definitions.score_min,
        definitions.score_max
    ) as interval_95,
    measured.mean_answered,
    measured.mean_worst,
    measured.mean_best
from measured
inner join definitions
    on measured.task = definitions.task
    and measured.scorer = definitions.scorer
    and measured.scorer_id = definitions.scorer_id;
