-- Scores of every run by category.
-- One row per (run_id, model, prompt, scorer, metric, category), by the newest definition that graded the run.
-- Scores in the scorer's unit; intervals of 95 %; NULL where fewer than two samples, or clusters, count.
-- Source: category_totals.
create or replace view category_scores as
select
    category_totals.run_id,
    category_totals.task,
    category_totals.model,
    category_totals.prompt,
    category_totals.scorer,
    category_totals.metric,
    category_totals.category,
    category_totals.mean,
    category_totals.interval_95.low as ci_low,
    category_totals.interval_95.high as ci_high,
    category_totals.stderr,
    category_totals.n_counted as n,
    category_totals.n_samples,
    category_totals.n_clusters,
    category_totals.n_pass,
    category_totals.n_unanswered,
    category_totals.n_errors,
    category_totals.scorer_id,
    category_totals.scorer_version,
    why_no_interval(category_totals.n_samples, category_totals.n_clusters) as reason
from category_totals
qualify category_totals.recency = max(category_totals.recency) over (
    partition by
        category_totals.task,
        category_totals.run_id,
        category_totals.model,
        category_totals.prompt,
        category_totals.scorer
)
order by
    category_totals.run_id asc,
    category_totals.scorer asc,
    category_totals.metric asc,
    category_totals.category asc,
    category_totals.model asc,
    category_totals.prompt asc;

comment on view category_scores is 'Scores of every run by category.';
comment on column category_scores.run_id is 'Run.';
comment on column category_scores.task is 'Name of the spec.';
comment on column category_scores.model is 'Display name of the model.';
comment on column category_scores.prompt is 'Name of the prompt.';
comment on column category_scores.scorer is 'Name of the scorer.';
comment on column category_scores.metric is 'Metric of the scorer.';
comment on column category_scores.category is 'Value of the category column.';
comment on column category_scores.mean is 'Mean score over the category''s samples.';
comment on column category_scores.ci_low is 'Lower end of its 95 % interval.';
comment on column category_scores.ci_high is 'Upper end of its 95 % interval.';
comment on column category_scores.stderr is 'Standard error of the mean, by clusters where there are any: of each, the samples of the category.';
comment on column category_scores.n is 'Trials (samples x epochs) that count in the mean.';
comment on column category_scores.n_samples is 'Samples that count in the mean.';
comment on column category_scores.n_clusters is 'Clusters among them; NULL for a run without clusters.';
comment on column category_scores.n_pass is 'Trials that pass.';
comment on column category_scores.n_unanswered is 'Trials to which the model gave no gradable answer.';
comment on column category_scores.n_errors is 'Trials without a grade because something else failed.';
comment on column category_scores.scorer_id is 'Identity of the definition.';
comment on column category_scores.scorer_version is 'Number of the definition under this name, from 1.';
comment on column category_scores.reason is 'Why stderr and interval are NULL; NULL if they are not.';
