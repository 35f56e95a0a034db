-- How an entrant's score moved from run to run, and whether the last step is more than chance.
-- One row per (task, model, prompt, scorer, metric, run_id): runs in order, by the newest definition that graded each.
-- Scores in the scorer's unit; intervals of 95 %; difference = this run - the run before, over shared samples. NULL: see reason.
-- Source: grade_totals; samples pair with equal input and target under one definition; paired_totals (as in pairwise).
create or replace view history as
with entrant as (
    select
        manifests.task,
        manifests.run_id,
        manifests.started_at,
        run_models.model,
        unnest(json_keys(manifests.prompts)) as prompt
    from manifests
    inner join run_models
        on manifests.run_id = run_models.run_id
),

placed as (
    select
        entrant.task,
        entrant.run_id,
        entrant.started_at,
        entrant.model,
        entrant.prompt,
        row_number() over in_order as run_no,
        lag(entrant.run_id) over in_order as previous_run_id
    from entrant
    window in_order as (
        partition by entrant.task, entrant.model, entrant.prompt
        order by entrant.started_at asc nulls first, entrant.run_id asc
    )
),

newest as (
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
        grade_totals.metric,
        grade_totals.mean,
        grade_totals.interval_95,
        grade_totals.n_counted,
        grade_totals.n_errors
    from grade_totals
    qualify grade_totals.recency = max(grade_totals.recency) over (
        partition by grade_totals.run_id, grade_totals.model, grade_totals.prompt, grade_totals.scorer
    )
),

asked as (
    select
        sample_scores.run_id,
        sample_scores.task,
        sample_scores.model,
        sample_scores.prompt,
        sample_scores.scorer,
        sample_scores.scorer_id,
        sample_scores.metric,
        sample_scores.sample_id,
        sample_scores.score,
        sample_scores.target,
        trials.input_hash,
        trials.cluster
    from sample_scores
    inner join trials
        on sample_scores.run_id = trials.run_id
        and sample_scores.model = trials.model
        and sample_scores.prompt = trials.prompt
        and sample_scores.sample_id = trials.sample_id
        and trials.epoch = 1
    where sample_scores.score is not null
),

-- read by paired_totals
difference as ( -- noqa: ST03
    select
        struct_pack(
            run_id := placed.run_id,
            model := placed.model,
            prompt := placed.prompt,
            scorer_id := now.scorer_id,
            metric := now.metric
        ) as pair,
        now.cluster,
        now.score as a_score,
        previous.score as b_score,
        worth_of(now.score - previous.score, definitions.higher_is_better) as gain
    from placed
    inner join asked as now
        on placed.run_id = now.run_id
        and placed.task = now.task
        and placed.model = now.model
        and placed.prompt = now.prompt
    inner join asked as previous
        on placed.previous_run_id = previous.run_id
        and placed.task = previous.task
        and placed.model = previous.model
        and placed.prompt = previous.prompt
        and now.scorer_id = previous.scorer_id
        and now.scorer = previous.scorer
        and now.metric = previous.metric
        and now.sample_id = previous.sample_id
    inner join definitions
        on now.task = definitions.task
        and now.scorer = definitions.scorer
        and now.scorer_id = definitions.scorer_id
    where
        now.target is not distinct from previous.target
        and now.input_hash is not distinct from previous.input_hash
),

total as (
    select paired.*
    from paired_totals(difference) as paired
),

stepped as (
    select
        placed.task,
        placed.model,
        placed.prompt,
        newest.scorer,
        newest.metric,
        newest.is_primary,
        placed.run_no,
        placed.run_id,
        placed.started_at,
        newest.mean,
        newest.interval_95,
        newest.n_counted,
        newest.n_errors,
        placed.previous_run_id,
        before.mean as previous_mean,
        before.scorer_id as previous_scorer_id,
        case when newest.higher_is_better then 1 else -1 end as direction,
        coalesce(total.n_shared, 0) as n_shared,
        total.n_units,
        total.gain,
        total.stderr,
        coalesce(total.n_better, 0) as n_better,
        coalesce(total.n_worse, 0) as n_worse,
        total.test,
        total.p,
        newest.scorer_id,
        newest.scorer_version
    from placed
    inner join newest
        on placed.run_id = newest.run_id
        and placed.task = newest.task
        and placed.model = newest.model
        and placed.prompt = newest.prompt
    left join newest as before
        on placed.previous_run_id = before.run_id
        and placed.task = before.task
        and placed.model = before.model
        and placed.prompt = before.prompt
        and newest.scorer = before.scorer
        and newest.metric = before.metric
    left join total
        on placed.run_id = total.pair.run_id
        and placed.model = total.pair.model
        and placed.prompt = total.pair.prompt
        and newest.scorer_id = total.pair.scorer_id
        and newest.metric = total.pair.metric
        and newest.scorer_id = before.scorer_id
),

bounded as (
    select
        stepped.*,
        t_interval(
            stepped.direction * stepped.gain, stepped.stderr, stepped.n_units - 1, null, null
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
        when bounded.n_shared = 0 then 'no sample in common'
        when bounded.n_better + bounded.n_worse = 0 then 'no shared sample differs'
        when bounded.stderr is null then 'one shared sample or cluster'
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
comment on column history.n is 'Trials that count.';
comment on column history.n_errors is 'Trials without a grade because something failed.';
comment on column history.previous_run_id is 'Run of the entrant before; NULL for the first.';
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
comment on column history.reason is 'Why a number is NULL; NULL if none is.';
comment on column history.scorer_id is 'Identity of the scorer''s whole definition.';
comment on column history.scorer_version is 'Number of the definition under this name, from 1.';
