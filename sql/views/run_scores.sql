-- Scores of every run ever made.
-- One row per (run_id, model, prompt, scorer, metric), by the newest definition that graded the run.
-- Scores in the scorer's unit; intervals of 95 %; NULL where fewer than two samples or clusters count.
-- Source: grade_totals; the macro mean weighs each category once.
create or replace view run_scores as
with newest as (
    select
        grade_totals.run_id,
        grade_totals.task,
        grade_totals.model,
        grade_totals.prompt,
        grade_totals.scorer,
        grade_totals.metric,
        grade_totals.mean,
        grade_totals.interval_95,
        grade_totals.stderr,
        grade_totals.n_counted,
        grade_totals.n_samples,
        grade_totals.n_clusters,
        grade_totals.n_pass,
        grade_totals.n_unanswered,
        grade_totals.n_errors,
        grade_totals.n_no_target,
        grade_totals.n_pending,
        grade_totals.mean_answered,
        grade_totals.mean_worst,
        grade_totals.mean_best,
        grade_totals.is_primary,
        grade_totals.is_current,
        grade_totals.scorer_id,
        grade_totals.scorer_version
    from grade_totals
    qualify grade_totals.recency = max(grade_totals.recency) over (
        partition by
            grade_totals.task,
            grade_totals.run_id,
            grade_totals.model,
            grade_totals.prompt,
            grade_totals.scorer
    )
),

macro as (
    select
        category_totals.run_id,
        category_totals.task,
        category_totals.model,
        category_totals.prompt,
        category_totals.scorer,
        category_totals.scorer_id,
        category_totals.metric,
        count(category_totals.mean) as n_categories,
        exact_sum(category_totals.mean) / nullif(count(category_totals.mean), 0) as macro_mean
    from category_totals
    group by
        category_totals.run_id,
        category_totals.task,
        category_totals.model,
        category_totals.prompt,
        category_totals.scorer,
        category_totals.scorer_id,
        category_totals.metric
)

select
    newest.run_id,
    newest.task,
    newest.model,
    newest.prompt,
    newest.scorer,
    newest.metric,
    newest.mean,
    newest.interval_95.low as ci_low,
    newest.interval_95.high as ci_high,
    newest.stderr,
    newest.n_counted as n,
    newest.n_samples,
    newest.n_clusters,
    newest.n_pass,
    newest.n_unanswered,
    newest.n_errors,
    newest.n_no_target,
    newest.n_pending,
    newest.mean_answered,
    newest.mean_worst,
    newest.mean_best,
    macro.macro_mean,
    macro.n_categories,
    newest.is_primary,
    newest.is_current,
    newest.scorer_id,
    newest.scorer_version,
    why_no_interval(newest.n_samples, newest.n_clusters) as reason
from newest
left join macro
    on newest.run_id = macro.run_id
    and newest.task = macro.task
    and newest.model = macro.model
    and newest.prompt = macro.prompt
    and newest.scorer = macro.scorer
    and newest.scorer_id = macro.scorer_id
    and newest.metric = macro.metric
order by
    newest.run_id asc,
    newest.is_primary desc,
    newest.scorer asc,
    newest.metric <> 'score' asc,
    newest.metric asc,
    newest.model asc,
    newest.prompt asc;

comment on view run_scores is 'Scores of every run ever made.';
comment on column run_scores.run_id is 'Run.';
comment on column run_scores.task is 'Name of the spec.';
comment on column run_scores.model is 'Display name of the model.';
comment on column run_scores.prompt is 'Name of the prompt.';
comment on column run_scores.scorer is 'Name of the scorer.';
comment on column run_scores.metric is 'Metric of the scorer.';
comment on column run_scores.mean is 'Mean score over samples, each weighed once.';
comment on column run_scores.ci_low is 'Lower end of its 95 % interval.';
comment on column run_scores.ci_high is 'Upper end of its 95 % interval.';
comment on column run_scores.stderr is 'Standard error of the mean, by clusters where there are any.';
comment on column run_scores.n is 'Trials (samples x epochs) that count in the mean.';
comment on column run_scores.n_samples is 'Samples that count in the mean: what stderr and interval are over.';
comment on column run_scores.n_clusters is 'Clusters among them; NULL for a run without clusters.';
comment on column run_scores.n_pass is 'Trials that pass.';
comment on column run_scores.n_unanswered is 'Trials to which the model gave no gradable answer.';
comment on column run_scores.n_errors is 'Trials without a grade because something else failed.';
comment on column run_scores.n_no_target is 'Trials whose sample has no target.';
comment on column run_scores.n_pending is 'Trials that wait for an answer or were skipped.';
comment on column run_scores.mean_answered is 'Mean without what was not answered or not graded; samples weighed once.';
comment on column run_scores.mean_worst is 'Mean if every failed, open or excluded trial had the worst score; NULL if unbounded.';
comment on column run_scores.mean_best is 'Mean if every failed, open or excluded trial had the best score; NULL if unbounded.';
comment on column run_scores.macro_mean is 'Mean of the categories'' means; NULL without categories.';
comment on column run_scores.n_categories is 'Categories in it.';
comment on column run_scores.is_primary is 'Whether this scorer ranks the leaderboard.';
comment on column run_scores.is_current is 'Whether the task uses this definition now.';
comment on column run_scores.scorer_id is 'Identity of the definition.';
comment on column run_scores.scorer_version is 'Number of the definition under this name, from 1.';
comment on column run_scores.reason is 'Why stderr and interval are NULL; NULL if they are not.';
