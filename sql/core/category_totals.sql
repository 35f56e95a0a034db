-- Grades of an entrant in a run by one definition, by category.
-- One row per (run_id, model, prompt, scorer, scorer_id, metric, category) of the runs whose spec has a category.
-- Means weigh each sample once; stderr by clusters where the run has them: of a cluster, what lies in the category.
-- Source: sample_scores and the category of the trials; clustered standard error as in the macro `clustered_stderr`.
create or replace view category_totals as
with categorised_run as (
    select
        manifests.run_id,
        manifests.is_clustered
    from manifests
    where manifests.is_categorised
),

sample_category as (
    select
        trials.run_id,
        trials.task,
        trials.sample_id,
        min(trials.category) as category,
        min(trials.cluster) as cluster
    from trials
    semi join categorised_run
        on trials.run_id = categorised_run.run_id
    where trials.category is not null
    group by
        trials.run_id,
        trials.task,
        trials.sample_id
),

cluster_score as (
    select
        sample_scores.run_id,
        sample_scores.task,
        sample_scores.model,
        sample_scores.prompt,
        sample_scores.scorer,
        sample_scores.scorer_id,
        sample_scores.metric,
        sample_category.category,
        exact_sum(sample_scores.score) as score,
        count(*) as size
    from sample_scores
    inner join categorised_run
        on sample_scores.run_id = categorised_run.run_id
        and categorised_run.is_clustered
    inner join sample_category
        on sample_scores.run_id = sample_category.run_id
        and sample_scores.task = sample_category.task
        and sample_scores.sample_id = sample_category.sample_id
    where sample_scores.score is not null
    group by
        sample_scores.run_id,
        sample_scores.task,
        sample_scores.model,
        sample_scores.prompt,
        sample_scores.scorer,
        sample_scores.scorer_id,
        sample_scores.metric,
        sample_category.category,
        coalesce('c' || sample_category.cluster, 's' || sample_scores.sample_id)
),

cluster_total as (
    select
        cluster_score.run_id,
        cluster_score.task,
        cluster_score.model,
        cluster_score.prompt,
        cluster_score.scorer,
        cluster_score.scorer_id,
        cluster_score.metric,
        cluster_score.category,
        count(*) as n_clusters,
        exact_sum(cluster_score.score * cluster_score.score) as score_squares,
        exact_sum(cluster_score.score * cluster_score.size) as score_sizes,
        cast(sum(cluster_score.size * cluster_score.size) as bigint) as size_squares
    from cluster_score
    group by
        cluster_score.run_id,
        cluster_score.task,
        cluster_score.model,
        cluster_score.prompt,
        cluster_score.scorer,
        cluster_score.scorer_id,
        cluster_score.metric,
        cluster_score.category
),

total as (
    select
        sample_scores.run_id,
        sample_scores.task,
        sample_scores.model,
        sample_scores.prompt,
        sample_scores.scorer,
        sample_scores.scorer_id,
        sample_scores.metric,
        sample_category.category,
        count(sample_scores.score) as n_samples,
        cast(sum(sample_scores.n_counted) as bigint) as n_counted,
        cast(sum(sample_scores.n_pass) as bigint) as n_pass,
        cast(sum(sample_scores.n_unanswered) as bigint) as n_unanswered,
        cast(sum(sample_scores.n_errors) as bigint) as n_errors,
        exact_sum(sample_scores.score) as score_sum,
        exact_sum(sample_scores.score * sample_scores.score) as score_squares,
        min(sample_scores.score) = max(sample_scores.score) as is_constant,
        bool_and(sample_scores.score in (0, 1)) as is_binary
    from sample_scores
    semi join categorised_run
        on sample_scores.run_id = categorised_run.run_id
    inner join sample_category
        on sample_scores.run_id = sample_category.run_id
        and sample_scores.task = sample_category.task
        and sample_scores.sample_id = sample_category.sample_id
    group by
        sample_scores.run_id,
        sample_scores.task,
        sample_scores.model,
        sample_scores.prompt,
        sample_scores.scorer,
        sample_scores.scorer_id,
        sample_scores.metric,
        sample_category.category
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
        total.category,
        total.n_samples,
        cluster_total.n_clusters,
        total.n_counted,
        total.n_pass,
        total.n_unanswered,
        total.n_errors,
        total.is_binary,
        total.score_sum / nullif(total.n_samples, 0) as mean,
        case
            when coalesce(cluster_total.n_clusters, total.n_samples) < 2 then null
            when total.is_constant then 0.0
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
        and total.task = cluster_total.task
        and total.model = cluster_total.model
        and total.prompt = cluster_total.prompt
        and total.scorer = cluster_total.scorer
        and total.scorer_id = cluster_total.scorer_id
        and total.metric = cluster_total.metric
        and total.category = cluster_total.category
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
    measured.metric,
    measured.category,
    measured.n_samples,
    measured.n_clusters,
    measured.n_counted,
    measured.n_pass,
    measured.n_unanswered,
    measured.n_errors,
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
    ) as interval_95
from measured
inner join definitions
    on measured.task = definitions.task
    and measured.scorer = definitions.scorer
    and measured.scorer_id = definitions.scorer_id;
