-- How much of the spread of scores is between samples, and how much between the epochs of one sample.
-- One row per (run_id, model, prompt, scorer, metric) with a score that counts, by the newest definition that graded the run.
-- Variances in the square of the scorer's unit; icc in [0, 1]; standard errors take samples as independent. NULL: see reason.
-- Source: epoch_totals (random-effects analysis of variance); icc(1) of Shrout and Fleiss (1979); Miller (2024), section 3.1.
create or replace view variance as
with newest as (
    select epoch_totals.*
    from epoch_totals
    qualify epoch_totals.recency = max(epoch_totals.recency) over (
        partition by
            epoch_totals.task,
            epoch_totals.run_id,
            epoch_totals.model,
            epoch_totals.prompt,
            epoch_totals.scorer
    )
)

select
    newest.run_id,
    newest.task,
    newest.model,
    newest.prompt,
    newest.scorer,
    newest.metric,
    newest.n_samples,
    newest.n,
    newest.epochs,
    newest.n_flaky,
    newest.between_variance,
    newest.within_variance,
    newest.between_variance / nullif(newest.between_variance + newest.within_variance, 0) as icc,
    stderr_with_epochs(newest.between_variance, newest.within_variance, newest.n_samples, 1) as stderr_once,
    stderr_with_epochs(
        newest.between_variance, newest.within_variance, newest.n_samples, newest.epochs
    ) as stderr_now,
    stderr_with_epochs(
        newest.between_variance, newest.within_variance, newest.n_samples, 2 * newest.epochs
    ) as stderr_doubled,
    stderr_with_epochs(
        newest.between_variance, newest.within_variance, newest.n_samples, cast('infinity' as double)
    ) as stderr_least,
    case
        when newest.n_samples < 2 then 'one sample'
        when newest.within_variance is null then 'one epoch'
        when newest.is_constant then 'all scores are equal'
        when newest.between_variance + newest.within_variance = 0 then 'no spread'
    end as reason,
    newest.scorer_id,
    newest.scorer_version
from newest
order by
    newest.run_id asc,
    newest.scorer asc,
    newest.metric asc,
    newest.model asc,
    newest.prompt asc;

comment on view variance is 'How much of the spread of scores is between samples, and how much between the epochs of one sample.';
comment on column variance.run_id is 'Run.';
comment on column variance.task is 'Name of the spec.';
comment on column variance.model is 'Display name of the model.';
comment on column variance.prompt is 'Name of the prompt.';
comment on column variance.scorer is 'Name of the scorer.';
comment on column variance.metric is 'Metric of the scorer.';
comment on column variance.n_samples is 'Samples with a score that counts.';
comment on column variance.n is 'Scores that count, over all epochs.';
comment on column variance.epochs is 'Scores a sample, averaged as the analysis of variance weighs them.';
comment on column variance.n_flaky is 'Samples whose epochs have different scores.';
comment on column variance.between_variance is 'Variance between samples, freed of what the epochs add; 0 where epochs differ more than samples do, since no variance is negative.';
comment on column variance.within_variance is 'Variance between the epochs of a sample.';
comment on column variance.icc is 'Share of the variance that is between samples: 1 if asking again changes nothing.';
comment on column variance.stderr_once is 'Standard error of the mean if each sample were asked once.';
comment on column variance.stderr_now is 'Standard error of the mean with the epochs that there are; that of the board, but greater where between_variance was cut at 0; clusters are left aside.';
comment on column variance.stderr_doubled is 'Standard error of the mean with twice as many epochs.';
comment on column variance.stderr_least is 'Standard error that no number of epochs goes below.';
comment on column variance.reason is 'Why a number is NULL: one sample, one epoch, all scores are equal, no spread; NULL if none is.';
comment on column variance.scorer_id is 'Identity of the scorer''s whole definition.';
comment on column variance.scorer_version is 'Number of the definition under this name, from 1.';
