-- Grades of an entrant in a run by one definition, by category.
-- One row per (run_id, model, prompt, scorer, scorer_id, metric, category) of the runs whose spec has a category.
-- Means weigh each sample once; stderr and interval are NULL for a run with clusters, which cut across categories.
-- Source: sample_scores and the category of the trials.
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
        min(trials.category) as category
    from trials
    semi join categorised_run
        on trials.run_id = categorised_run.run_id
    where trials.category is not null
    group by
        trials.run_id,
        trials.task,
        trials.sample_id
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
        categorised_run.is_clustered,
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
    inner join categorised_run
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
        sample_category.category,
        categorised_run.is_clustered
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
        total.is_clustered,
        total.n_samples,
        total.n_counted,
        total.n_pass,
        total.n_unanswered,
        total.n_errors,
        total.is_binary,
        total.score_sum / nullif(total.n_samples, 0) as mean,
        case
            when total.is_clustered or total.n_samples < 2 then null
            when total.is_constant then 0.0
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
    measured.is_clustered,
    measured.n_samples,
    measured.n_counted,
    measured.n_pass,
    measured.n_unanswered,
    measured.n_errors,
    measured.mean,
    measured.stderr,
    case
        when not measured.is_clustered
            then mean_interval(
                measured.mean,
                measured.stderr,
                measured.is_binary,
                measured.n_samples,
                cast(null as bigint),
                definitions.score_min,
                definitions.score_max
            )
    end as interval_95
from measured
inner join definitions
    on measured.task = definitions.task
    and measured.scorer = definitions.scorer
    and measured.scorer_id = definitions.scorer_id;
