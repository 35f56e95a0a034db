-- Every two ranked entrants of a board, compared on the samples that they share.
-- One row per (task, scorer, metric, pair): `a` stands above `b` on the board.
-- Differences a - b in the scorer's unit; intervals of 95 %; NULL for fewer than two shared samples or clusters.
-- Source: paired clustered standard error (Miller 2024); exact McNemar or sign test; Holm (1979) over the board's pairs.
create or replace view pairwise as
with placed as materialized (
    select
        board_rows.task,
        board_rows.scorer,
        board_rows.metric,
        board_rows.model,
        board_rows.prompt,
        board_rows.run_id,
        board_rows.scorer_id,
        board_rows.unanswered_score,
        board_rows.higher_is_better,
        board_rows.score_min,
        board_rows.score_max,
        board_rows.epochs,
        board_rows.is_ranked,
        board_rows.n_ranked,
        board_rows.board_no,
        board_rows.row_no
    from board_rows
),

unsure_task as (
    select distinct board_candidates.task
    from board_candidates
    where not board_candidates.is_sure
),

input as (
    select
        trials.run_id,
        trials.model,
        trials.prompt,
        trials.sample_id,
        arg_min(trials.input_hash, trials.epoch) as input_hash
    from trials
    semi join unsure_task
        on trials.task = unsure_task.task
    where trials.run_id in board_run_ids()
    group by
        trials.run_id,
        trials.model,
        trials.prompt,
        trials.sample_id
),

sample_cluster as (
    select
        trials.run_id,
        trials.sample_id,
        min(trials.cluster) as cluster
    from trials
    semi join manifests
        on trials.run_id = manifests.run_id
        and manifests.is_clustered
    where
        trials.cluster is not null
        and trials.run_id in board_run_ids()
    group by
        trials.run_id,
        trials.sample_id
),

entry as materialized (
    select
        contest.row_no,
        contest.board_no,
        contest.sample_id,
        contest.worth,
        contest.target,
        placed.prompt,
        case when placed.higher_is_better then 1 else -1 end as direction,
        input.input_hash,
        sample_cluster.cluster
    from contest_scores(placed) as contest
    inner join placed
        on contest.row_no = placed.row_no
    left join input
        on placed.run_id = input.run_id
        and placed.model = input.model
        and placed.prompt = input.prompt
        and contest.sample_id = input.sample_id
    left join sample_cluster
        on placed.run_id = sample_cluster.run_id
        and contest.sample_id = sample_cluster.sample_id
),

-- read by paired_totals
difference as ( -- noqa: ST03
    select
        a.board_no as board,
        a.row_no as entry,
        b.row_no as pair,
        coalesce(a.cluster, b.cluster) as cluster,
        a.direction * a.worth as a_score,
        b.direction * b.worth as b_score,
        a.worth - b.worth as gain
    from entry as a
    inner join entry as b
        on a.board_no = b.board_no
        and a.sample_id = b.sample_id
        and a.row_no < b.row_no
    where
        a.target is not distinct from b.target
        and (a.prompt <> b.prompt or a.input_hash is not distinct from b.input_hash)
),

total as (
    select paired.*
    from paired_totals(difference) as paired
),

tested as (
    select
        a.task,
        a.scorer,
        a.metric,
        a.board_no,
        a.row_no as a_no,
        b.row_no as b_no,
        a.model as a_model,
        a.prompt as a_prompt,
        b.model as b_model,
        b.prompt as b_prompt,
        a.scorer_id,
        a.run_id as a_run_id,
        b.run_id as b_run_id,
        a.higher_is_better,
        a.score_max - a.score_min as score_range,
        coalesce(total.n_shared, 0) as n_shared,
        total.n_units,
        total.a_mean,
        total.b_mean,
        total.gain,
        coalesce(total.n_better, 0) as n_better,
        coalesce(total.n_worse, 0) as n_worse,
        total.stderr,
        total.test,
        total.p
    from placed as a
    inner join placed as b
        on a.board_no = b.board_no
        and a.row_no < b.row_no
    left join total
        on a.row_no = total.entry
        and b.row_no = total.pair
    where
        a.is_ranked
        and b.is_ranked
),

stepped as (
    select
        tested.*,
        holm_step(
            tested.p,
            row_number() over (
                partition by tested.board_no
                order by tested.p asc nulls last, tested.a_no asc, tested.b_no asc
            ),
            count(tested.p) over (
                partition by tested.board_no
            )
        ) as step
    from tested
),

corrected as (
    select
        stepped.*,
        case
            when stepped.p is not null
                then max(stepped.step) over (
                    partition by stepped.board_no
                    order by stepped.p asc nulls last, stepped.a_no asc, stepped.b_no asc
                    rows unbounded preceding
                )
        end as p_holm,
        t_interval(
            case when stepped.higher_is_better then stepped.gain else -stepped.gain end,
            stepped.stderr,
            stepped.n_units - 1,
            -stepped.score_range,
            stepped.score_range
        ) as interval_95
    from stepped
)

select
    corrected.task,
    corrected.scorer,
    corrected.metric,
    corrected.a_model,
    corrected.a_prompt,
    corrected.b_model,
    corrected.b_prompt,
    corrected.n_shared,
    corrected.a_mean,
    corrected.b_mean,
    case when corrected.higher_is_better then corrected.gain else -corrected.gain end as difference,
    corrected.stderr,
    corrected.interval_95.low as ci_low,
    corrected.interval_95.high as ci_high,
    corrected.n_better,
    corrected.n_worse,
    corrected.test,
    corrected.p,
    corrected.p_holm,
    smallest_detectable(corrected.stderr, corrected.n_units - 1) as smallest_detectable,
    case
        when corrected.n_shared = 0 then 'not comparable'
        when corrected.n_better + corrected.n_worse = 0 then 'tied'
        when corrected.p_holm > 0.05 then 'inconclusive'
        when corrected.n_better > corrected.n_worse and corrected.gain > 0 then 'better'
        when corrected.n_better < corrected.n_worse and corrected.gain < 0 then 'worse'
        else 'inconclusive'
    end as verdict,
    case
        when corrected.n_shared = 0 then 'no sample in common'
        when corrected.stderr is null then 'one shared sample or cluster'
        when corrected.p is null then 'no shared sample differs'
        when corrected.stderr = 0 then 'every shared sample differs by the same'
    end as reason,
    corrected.a_run_id,
    corrected.b_run_id,
    corrected.scorer_id
from corrected
order by
    corrected.a_no asc,
    corrected.b_no asc;

comment on view pairwise is 'Every two ranked entrants of a board, compared on the samples that they share.';
comment on column pairwise.task is 'Name of the spec.';
comment on column pairwise.scorer is 'Name of the scorer.';
comment on column pairwise.metric is 'Metric of the scorer.';
comment on column pairwise.a_model is 'Model that stands above.';
comment on column pairwise.a_prompt is 'Its prompt.';
comment on column pairwise.b_model is 'Model that stands below.';
comment on column pairwise.b_prompt is 'Its prompt.';
comment on column pairwise.n_shared is 'Samples that both have a score of, with equal target, and equal input under one prompt name.';
comment on column pairwise.a_mean is 'Mean of a over the shared samples.';
comment on column pairwise.b_mean is 'Mean of b over the shared samples.';
comment on column pairwise.difference is 'a_mean minus b_mean.';
comment on column pairwise.stderr is 'Standard error of the difference, paired, by clusters where there are any.';
comment on column pairwise.ci_low is 'Lower end of its 95 % interval.';
comment on column pairwise.ci_high is 'Upper end of its 95 % interval.';
comment on column pairwise.n_better is 'Shared samples (or clusters) on which a is better.';
comment on column pairwise.n_worse is 'Shared samples (or clusters) on which a is worse.';
comment on column pairwise.test is 'mcnemar (scores of 0 and 1), sign, or sign over clusters; NULL if nothing is shared.';
comment on column pairwise.p is 'Exact two-sided p; NULL where nothing differs.';
comment on column pairwise.p_holm is 'p corrected for all pairs of the board.';
comment on column pairwise.smallest_detectable is 'Difference that this many samples would find with 80 % power; NULL if unknown.';
comment on column pairwise.verdict is 'Of a: better or worse (p_holm <= 0.05), tied (no shared sample differs), inconclusive, not comparable.';
comment on column pairwise.reason is 'Why a number is NULL, or an interval without width; NULL otherwise.';
comment on column pairwise.a_run_id is 'Run that shows a.';
comment on column pairwise.b_run_id is 'Run that shows b.';
comment on column pairwise.scorer_id is 'Identity of the scorer''s whole definition.';
