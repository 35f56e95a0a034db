-- Two runs, models, prompts or scorer versions compared as wholes.
-- One row per (task, scorer, metric) and what pairs by name: model and prompt, unless both sides name one.
-- difference b - a over the samples that both have; intervals of 95 %; NULL for fewer than two samples or clusters.
-- Source: diff; paired clustered standard error (Miller 2024); exact McNemar or sign test; Fisher over the epochs of one sample.
create or replace macro comparison(
    a_run,
    b_run,
    a_model := null,
    b_model := null,
    a_prompt := null,
    b_prompt := null,
    a_scorer := null,
    b_scorer := null,
    a_version := null,
    b_version := null
) as table
with trial as materialized (
    select
        pairs.task,
        coalesce(case when b_scorer is not null then a_scorer end, pairs.scorer) as scorer,
        pairs.metric,
        pairs.sample_id,
        pairs.epoch,
        pairs.cluster,
        pairs.change,
        pairs.cause,
        coalesce(case when b_model is not null then a_model end, pairs.a_model, pairs.b_model) as model,
        coalesce(case when b_prompt is not null then a_prompt end, pairs.a_prompt, pairs.b_prompt) as prompt,
        pairs.b_model,
        pairs.b_prompt,
        pairs.b_scorer as other_scorer,
        pairs.a_version,
        pairs.b_version,
        pairs.a_outcome,
        pairs.b_outcome,
        pairs.is_other_input,
        pairs.is_other_scorer,
        pairs.a_score,
        pairs.b_score,
        pairs.gain,
        pairs.change not in ('one_sided', 'not_comparable') and pairs.gain is not null as is_shared
    from diff(
        a_run, b_run, a_model, b_model, a_prompt, b_prompt, a_scorer, b_scorer, a_version, b_version
    ) as pairs
),

-- read by paired_totals
sample as ( -- noqa: ST03
    select
        trial.task as board,
        trial.scorer as entry,
        struct_pack(metric := trial.metric, model := trial.model, prompt := trial.prompt) as pair,
        min(trial.cluster) as cluster,
        weighted_mean(trial.a_score, 1) as a_score,
        weighted_mean(trial.b_score, 1) as b_score,
        weighted_mean(trial.gain, 1) as gain
    from trial
    where trial.is_shared
    group by
        trial.task,
        trial.scorer,
        trial.metric,
        trial.model,
        trial.prompt,
        trial.sample_id
),

total as (
    select
        paired.board as task,
        paired.entry as scorer,
        paired.pair.metric as metric,
        paired.pair.model as model,
        paired.pair.prompt as prompt,
        paired.n_units,
        paired.n_shared,
        paired.gain,
        paired.a_mean,
        paired.b_mean,
        paired.stderr,
        paired.n_better,
        paired.n_worse,
        paired.test,
        paired.p
    from paired_totals(sample) as paired
),

counted as (
    select
        trial.task,
        trial.scorer,
        trial.metric,
        trial.model,
        trial.prompt,
        count(*) filter (where trial.change = 'fixed') as n_fixed,
        count(*) filter (where trial.change = 'broken') as n_broken,
        count(*) filter (where trial.change = 'up') as n_up,
        count(*) filter (where trial.change = 'down') as n_down,
        count(*) filter (where trial.change = 'same' and trial.is_shared) as n_same,
        count(*) filter (where trial.change = 'one_sided') as n_one_sided,
        count(*) filter (where trial.cause in ('error', 'no_grade')) as n_missing,
        count(*) filter (
            where trial.change = 'not_comparable' and trial.cause not in ('error', 'no_grade')
        ) as n_other_question,
        count(*) filter (where trial.is_shared and trial.is_other_input) as n_other_input,
        coalesce(bool_or(trial.is_other_scorer), false) as is_other_scorer,
        min(trial.b_model) as b_model,
        min(trial.b_prompt) as b_prompt,
        min(trial.other_scorer) as other_scorer,
        min(trial.a_version) as a_version,
        min(trial.b_version) as b_version,
        count(trial.a_outcome) as n_a,
        count(trial.b_outcome) as n_b,
        count(*) filter (where is_failure(trial.a_outcome)) as n_a_errors,
        count(*) filter (where is_failure(trial.b_outcome)) as n_b_errors,
        count(*) filter (where trial.a_outcome in ('pending', 'skipped')) as n_a_pending,
        count(*) filter (where trial.b_outcome in ('pending', 'skipped')) as n_b_pending,
        count(*) filter (
            where
            trial.cause = 'no_grade'
            and (trial.a_score is null) <> (trial.b_score is null)
            and coalesce(trial.a_outcome, '') not in ('pending', 'skipped')
            and coalesce(trial.b_outcome, '') not in ('pending', 'skipped')
            and not coalesce(is_failure(trial.a_outcome), false)
            and not coalesce(is_failure(trial.b_outcome), false)
        ) as n_excluded,
        count(*) filter (where trial.is_shared) as n_pairs,
        count(*) filter (where trial.is_shared and trial.a_score = 1) as n_a_ones,
        count(*) filter (where trial.is_shared and trial.b_score = 1) as n_b_ones,
        coalesce(
            bool_and(trial.a_score in (0, 1) and trial.b_score in (0, 1)) filter (where trial.is_shared),
            false
        ) as is_all_binary,
        count(*) as n_trials
    from trial
    group by
        trial.task,
        trial.scorer,
        trial.metric,
        trial.model,
        trial.prompt
),

measured as (
    select
        counted.*,
        coalesce(total.n_shared, 0) as n_shared,
        total.n_units,
        total.gain,
        total.a_mean,
        total.b_mean,
        total.stderr,
        coalesce(total.n_better, 0) as n_better,
        coalesce(total.n_worse, 0) as n_worse,
        case
            when total.n_shared = 1 and counted.n_pairs > 1 and counted.is_all_binary then 'fisher'
            else total.test
        end as test,
        case
            when total.n_shared = 1 and counted.n_pairs > 1 and counted.is_all_binary
                then fisher_exact(counted.n_a_ones, counted.n_pairs, counted.n_b_ones, counted.n_pairs)
            else total.p
        end as p
    from counted
    left join total
        on counted.task = total.task
        and counted.scorer = total.scorer
        and counted.metric = total.metric
        and counted.model = total.model
        and counted.prompt = total.prompt
),

bounded as (
    select
        measured.*,
        measured.b_mean - measured.a_mean as difference,
        t_interval(
            measured.b_mean - measured.a_mean,
            measured.stderr,
            measured.n_units - 1,
            b_definition.score_min - a_definition.score_max,
            b_definition.score_max - a_definition.score_min
        ) as interval_95,
        measured.n_one_sided + measured.n_missing + measured.n_other_question as n_apart
    from measured
    left join definitions as a_definition
        on measured.task = a_definition.task
        and measured.scorer = a_definition.scorer
        and measured.a_version = a_definition.scorer_version
    left join definitions as b_definition
        on measured.task = b_definition.task
        and measured.other_scorer = b_definition.scorer
        and measured.b_version = b_definition.scorer_version
)

select
    bounded.task,
    bounded.scorer,
    bounded.metric,
    bounded.model,
    bounded.prompt,
    bounded.n_shared,
    bounded.a_mean,
    bounded.b_mean,
    bounded.difference,
    bounded.stderr,
    bounded.interval_95.low as ci_low,
    bounded.interval_95.high as ci_high,
    bounded.n_better,
    bounded.n_worse,
    bounded.test,
    bounded.p,
    bounded.n_fixed,
    bounded.n_broken,
    bounded.n_up,
    bounded.n_down,
    bounded.n_same,
    bounded.n_one_sided,
    bounded.n_missing,
    bounded.n_other_question,
    bounded.n_shared > 0 and bounded.n_apart = 0 as is_comparable,
    case
        when bounded.n_shared = 0 then 'no trial in common'
        when bounded.n_other_question > 0
            then format(
                '{:,} of {:,} ask or expect something else', bounded.n_other_question, bounded.n_trials
            )
        when bounded.n_one_sided > 0
            then format('{:,} of {:,} are on one side only', bounded.n_one_sided, bounded.n_trials)
        when bounded.n_missing > 0
            then format('{:,} of {:,} lack a grade', bounded.n_missing, bounded.n_trials)
    end as reason,
    bounded.gain,
    bounded.b_model,
    bounded.b_prompt,
    bounded.a_version,
    bounded.b_version,
    bounded.is_other_scorer,
    bounded.n_other_input,
    bounded.n_trials,
    bounded.n_a,
    bounded.n_b,
    bounded.n_a_errors,
    bounded.n_b_errors,
    bounded.n_a_pending,
    bounded.n_b_pending,
    bounded.n_excluded,
    case
        when bounded.n_shared = 0 then 'no trial in common'
        when bounded.stderr is null then 'one shared sample or cluster'
        when bounded.p is null then 'no shared sample differs'
        when bounded.stderr = 0 then 'every shared sample differs by the same'
    end as stats_reason
from bounded
order by
    bounded.task asc,
    bounded.scorer asc,
    bounded.metric asc,
    bounded.model asc,
    bounded.prompt asc;

-- comparison.task: Name of the spec.
-- comparison.scorer: Name of the scorer; where each side names one, that of a.
-- comparison.metric: Metric of the scorer.
-- comparison.model: Display name of the model; where each side names one, that of a.
-- comparison.prompt: Name of the prompt; where each side names one, that of a.
-- comparison.n_shared: Samples on which both have a grade that counts, of one question and target.
-- comparison.a_mean: Mean of a over them, epochs averaged first; NULL if there are none.
-- comparison.b_mean: Mean of b over them.
-- comparison.difference: b_mean minus a_mean, in the scorer's unit.
-- comparison.stderr: Standard error of the difference, paired, by clusters where there are any.
-- comparison.ci_low: Lower end of its 95 % interval (Student's t), cut at what two scores can differ by.
-- comparison.ci_high: Upper end of its 95 % interval.
-- comparison.n_better: Shared samples (or clusters) on which b is better.
-- comparison.n_worse: Shared samples (or clusters) on which b is worse.
-- comparison.test: mcnemar (scores of 0 and 1), sign, sign over clusters, or fisher (epochs of one sample); NULL if nothing is shared.
-- comparison.p: Exact two-sided p of this row alone; NULL where nothing differs.
-- comparison.n_fixed: Trials that failed in a and pass in b.
-- comparison.n_broken: Trials that passed in a and fail in b.
-- comparison.n_up: Trials with a better score and the same verdict.
-- comparison.n_down: Trials with a worse score and the same verdict.
-- comparison.n_same: Trials with the same score.
-- comparison.n_one_sided: Trials that one side alone has.
-- comparison.n_missing: Trials that lack a grade on one side, or on both after a failure.
-- comparison.n_other_question: Trials with another sample or target.
-- comparison.is_comparable: Whether something is shared and no trial is one-sided, missing or another question.
-- comparison.reason: Why is_comparable is false; NULL if it is true.
-- comparison.gain: Mean difference turned so that more is better.
-- comparison.b_model: Display name of the model of b; NULL if it has none of these trials.
-- comparison.b_prompt: Name of the prompt of b; NULL if it has none of these trials.
-- comparison.a_version: Number of the definition that graded a, from 1.
-- comparison.b_version: Number of the definition that graded b, from 1.
-- comparison.is_other_scorer: Whether two definitions graded the sides.
-- comparison.n_other_input: Shared trials in which the models were asked something else.
-- comparison.n_trials: Trials that either side has.
-- comparison.n_a: Trials that a has.
-- comparison.n_b: Trials that b has.
-- comparison.n_a_errors: Of them, without a grade because something failed.
-- comparison.n_b_errors: Of n_b, without a grade because something failed.
-- comparison.n_a_pending: Trials of a that wait for an answer or grade, or were skipped.
-- comparison.n_b_pending: Trials of b that wait for an answer or grade, or were skipped.
-- comparison.n_excluded: Trials that count on one side only, with neither failed nor pending.
-- comparison.stats_reason: Why stderr, interval or p is NULL or the interval has no width; NULL otherwise.
