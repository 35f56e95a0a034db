-- How an entrant's score moved from run to run, and whether the last step is more than chance.
-- One row per (task, model, prompt, scorer, metric, run_id): runs in order, by the newest definition that graded each.
-- Scores in the scorer's unit; difference = this run - the run before (of the same prompt name, asked alike or not), over shared samples. NULL: see reason. Ask with a predicate on task.
-- Source: grade_totals; samples pair with equal input and target under one definition; paired_totals (as in pairwise).
create or replace view history as
with newest as not materialized (
    select
        grade_totals.run_id,
        grade_totals.task,
        grade_totals.model,
        grade_totals.prompt,
        grade_totals.scorer,
        grade_totals.scorer_id,
        grade_totals.scorer_version,
        grade_totals.is_primary,
        grade_totals.higher_is_better,
        grade_totals.score_max - grade_totals.score_min as score_range,
        grade_totals.metric,
        grade_totals.mean,
        grade_totals.interval_95,
        grade_totals.n_counted,
        grade_totals.n_errors
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

-- numbers stand for what is equal in thousands of rows, so that memory holds little of each
asked as not materialized (
    select
        entrant_runs.task,
        entrant_runs.step_no,
        sample_scores.scorer,
        definitions.scorer_version,
        definitions.higher_is_better,
        sample_scores.metric,
        sample_scores.sample_id,
        sample_scores.score,
        -- makes the planner join trials and step first: samples alone would meet those of every run
        hash(entrant_runs.step_no, trials.sample_id) as place,
        hash(entrant_runs.step_no + 1, trials.sample_id) as next_place,
        hash(trials.input_hash) as input,
        hash(sample_scores.target) as target,
        trials.cluster
    from sample_scores
    inner join trials
        on sample_scores.task = trials.task
        and sample_scores.run_id = trials.run_id
        and sample_scores.model = trials.model
        and sample_scores.prompt = trials.prompt
        and sample_scores.sample_id = trials.sample_id
        and trials.epoch = 1
    inner join entrant_runs
        on sample_scores.task = entrant_runs.task
        and sample_scores.run_id = entrant_runs.run_id
        and sample_scores.model = entrant_runs.model
        and sample_scores.prompt = entrant_runs.prompt
    inner join definitions
        on sample_scores.task = definitions.task
        and sample_scores.scorer = definitions.scorer
        and sample_scores.scorer_id = definitions.scorer_id
    where sample_scores.score is not null
),

-- read by paired_totals; what is asked otherwise or expects something else is totalled apart, and only counted
difference as ( -- noqa: ST03
    select
        now.task as board,
        now.step_no as entry,
        struct_pack(
            scorer := now.scorer,
            scorer_version := now.scorer_version,
            metric := now.metric,
            is_other_input := now.input <> previous.input,
            is_other_target := now.target <> previous.target
        ) as pair,
        coalesce(now.cluster, previous.cluster) as cluster,
        now.score as a_score,
        previous.score as b_score,
        worth_of(now.score - previous.score, now.higher_is_better) as gain
    from asked as now
    inner join asked as previous
        on now.task = previous.task
        and now.step_no - 1 = previous.step_no
        and now.scorer = previous.scorer
        and now.scorer_version = previous.scorer_version
        and now.metric = previous.metric
        and now.sample_id = previous.sample_id
        and now.place = previous.next_place
),

total as (
    select
        paired.board as task,
        paired.entry as step_no,
        paired.pair.scorer as scorer,
        paired.pair.scorer_version as scorer_version,
        paired.pair.metric as metric,
        coalesce(sum(paired.n_shared) filter (where paired.pair.is_other_input), 0) as n_other_input,
        coalesce(sum(paired.n_shared) filter (where paired.pair.is_other_target), 0) as n_other_target,
        any_value(paired) filter (
            where not paired.pair.is_other_input and not paired.pair.is_other_target
        ) as alike
    from paired_totals(difference) as paired
    group by
        paired.board,
        paired.entry,
        paired.pair.scorer,
        paired.pair.scorer_version,
        paired.pair.metric
),

stepped as (
    select
        entrant_runs.task,
        entrant_runs.model,
        entrant_runs.prompt,
        newest.scorer,
        newest.metric,
        newest.is_primary,
        entrant_runs.run_no,
        entrant_runs.run_id,
        entrant_runs.started_at,
        newest.mean,
        newest.interval_95,
        newest.n_counted,
        newest.n_errors,
        entrant_runs.previous_run_id,
        before.mean as previous_mean,
        before.scorer_id as previous_scorer_id,
        case when newest.higher_is_better then 1 else -1 end as direction,
        newest.score_range,
        total.n_other_input,
        total.n_other_target,
        coalesce(total.alike.n_shared, 0) as n_shared,
        total.alike.n_units as n_units,
        total.alike.gain as gain,
        total.alike.stderr as stderr,
        coalesce(total.alike.n_better, 0) as n_better,
        coalesce(total.alike.n_worse, 0) as n_worse,
        total.alike.test as test,
        total.alike.p as p,
        newest.scorer_id,
        newest.scorer_version
    from entrant_runs
    inner join newest
        on entrant_runs.run_id = newest.run_id
        and entrant_runs.task = newest.task
        and entrant_runs.model = newest.model
        and entrant_runs.prompt = newest.prompt
    left join newest as before
        on entrant_runs.previous_run_id = before.run_id
        and entrant_runs.task = before.task
        and entrant_runs.model = before.model
        and entrant_runs.prompt = before.prompt
        and newest.scorer = before.scorer
        and newest.metric = before.metric
    left join total
        on entrant_runs.task = total.task
        and entrant_runs.step_no = total.step_no
        and newest.scorer = total.scorer
        and newest.scorer_version = total.scorer_version
        and newest.metric = total.metric
        and before.scorer_version = total.scorer_version
),

bounded as (
    select
        stepped.*,
        t_interval(
            stepped.direction * stepped.gain,
            stepped.stderr,
            stepped.n_units - 1,
            -stepped.score_range,
            stepped.score_range
        ) as difference_95
    from stepped
)

select
    bounded.task,
    bounded.model,
    bounded.prompt,
    bounded.scorer,
    bounded.metric,
    bounded.is_primary,
    bounded.run_no,
    bounded.run_id,
    bounded.started_at,
    bounded.mean,
    bounded.interval_95.low as ci_low,
    bounded.interval_95.high as ci_high,
    bounded.n_counted as n,
    bounded.n_errors,
    bounded.previous_run_id,
    bounded.previous_mean,
    bounded.mean - bounded.previous_mean as change,
    bounded.n_shared,
    bounded.direction * bounded.gain as difference,
    bounded.stderr,
    bounded.difference_95.low as difference_low,
    bounded.difference_95.high as difference_high,
    bounded.n_better,
    bounded.n_worse,
    bounded.test,
    bounded.p,
    case
        when bounded.n_shared = 0 then null
        when bounded.n_better + bounded.n_worse = 0 then 'same'
        when bounded.p > 0.05 then 'inconclusive'
        when bounded.n_better > bounded.n_worse and bounded.gain > 0 then 'better'
        when bounded.n_better < bounded.n_worse and bounded.gain < 0 then 'worse'
        else 'inconclusive'
    end as verdict,
    case
        when bounded.previous_run_id is null then 'first run'
        when bounded.previous_scorer_id is null then 'the run before has no grades by this scorer'
        when bounded.previous_scorer_id <> bounded.scorer_id then 'other scorer version'
        when bounded.n_shared = 0 and bounded.n_other_input > 0 then 'asked otherwise'
        when bounded.n_shared = 0 and bounded.n_other_target > 0 then 'other target'
        when bounded.n_shared = 0 then 'no sample in common'
        when bounded.n_better + bounded.n_worse = 0 then 'no shared sample differs'
        when bounded.stderr is null then 'one shared sample or cluster'
        when bounded.stderr = 0 then 'every shared sample differs by the same'
    end as reason,
    bounded.scorer_id,
    bounded.scorer_version
from bounded
order by
    bounded.task asc,
    bounded.is_primary desc,
    bounded.scorer asc,
    bounded.metric asc,
    bounded.model asc,
    bounded.prompt asc,
    bounded.run_no asc;

comment on view history is 'How an entrant''s score moved from run to run, and whether the last step is more than chance.';
comment on column history.task is 'Name of the spec.';
comment on column history.model is 'Display name of the model.';
comment on column history.prompt is 'Name of the prompt.';
comment on column history.scorer is 'Name of the scorer.';
comment on column history.metric is 'Metric of the scorer.';
comment on column history.is_primary is 'Whether this scorer ranks the leaderboard.';
comment on column history.run_no is 'Number of the run among those of the entrant, from 1.';
comment on column history.run_id is 'Run.';
comment on column history.started_at is 'Start of the run, UTC.';
comment on column history.mean is 'Mean score of the run; NULL if nothing counts.';
comment on column history.ci_low is 'Lower end of its 95 % interval.';
comment on column history.ci_high is 'Upper end of its 95 % interval.';
comment on column history.n is 'Trials (samples x epochs) that count; n_shared counts samples.';
comment on column history.n_errors is 'Trials without a grade because something failed.';
comment on column history.previous_run_id is 'Run of the entrant before, by model and prompt name, whatever it was asked; NULL for the first.';
comment on column history.previous_mean is 'Mean score of the run before.';
comment on column history.change is 'mean minus previous_mean, whatever samples each has.';
comment on column history.n_shared is 'Samples that both runs score, with equal input and target, by one definition.';
comment on column history.difference is 'Mean over the shared samples, this run minus the run before.';
comment on column history.stderr is 'Standard error of the difference, paired, by clusters where there are any.';
comment on column history.difference_low is 'Lower end of its 95 % interval.';
comment on column history.difference_high is 'Upper end of its 95 % interval.';
comment on column history.n_better is 'Shared samples (or clusters) on which this run is better.';
comment on column history.n_worse is 'Shared samples (or clusters) on which this run is worse.';
comment on column history.test is 'mcnemar (scores of 0 and 1), sign, or sign over clusters; NULL if nothing is shared.';
comment on column history.p is 'Exact two-sided p of this step alone; NULL where nothing differs.';
comment on column history.verdict is 'better or worse (p <= 0.05), same (no shared sample differs), inconclusive; NULL where samples do not pair.';
comment on column history.reason is 'Why a number is NULL (asked otherwise: the samples are the same, the prompt is not), or an interval without width; NULL otherwise.';
comment on column history.scorer_id is 'Identity of the scorer''s whole definition.';
comment on column history.scorer_version is 'Number of the definition under this name, from 1.';
