-- The board of every task: who is best, by how much, and how sure that is.
-- One row per (task, model, prompt, scorer, metric); ranked entrants first, the others below the line with the reason.
-- Scores in the scorer's unit; intervals of 95 %; US dollars; milliseconds. NULL means not known.
-- Source: board_rows; win rates by counting; trials and prices of the run that shows the entrant.
create or replace view leaderboard as
with placed as materialized (
    select
        board_rows.*,
        board_rows.reason is null as is_ranked,
        row_number() over (
            order by
                board_rows.task asc,
                board_rows.scorer asc,
                board_rows.metric asc,
                board_rows.model asc,
                board_rows.prompt asc
        ) as row_no,
        dense_rank() over (
            order by
                board_rows.task asc,
                board_rows.scorer asc,
                board_rows.metric asc
        ) as board_no,
        count(*) filter (where board_rows.reason is null) over (
            partition by board_rows.task, board_rows.scorer, board_rows.metric
        ) as n_ranked,
        round(case when board_rows.higher_is_better then -board_rows.mean else board_rows.mean end, 12) as order_score
    from board_rows
),

repeated_run as (
    select manifests.run_id
    from manifests
    where manifests.epochs > 1
),

contest as (
    select
        placed.*
    from placed
    where
        placed.is_ranked
        and placed.n_ranked >= 2
),

entry as (
    select
        contest.row_no,
        contest.board_no,
        scores.sample_id,
        worth_of(
            counted_score(scores.score, scores.outcome, contest.unanswered_score), contest.higher_is_better
        ) as worth
    from scores
    inner join contest
        on scores.run_id = contest.run_id
        and scores.model = contest.model
        and scores.prompt = contest.prompt
        and scores.scorer_id = contest.scorer_id
        and scores.metric = contest.metric
    where
        scores.run_id in board_run_ids()
        and contest.epochs = 1
        and counted_score(scores.score, scores.outcome, contest.unanswered_score) is not null
    union all
    select
        contest.row_no,
        contest.board_no,
        sample_scores.sample_id,
        worth_of(sample_scores.score, contest.higher_is_better) as worth
    from sample_scores
    inner join contest
        on sample_scores.run_id = contest.run_id
        and sample_scores.model = contest.model
        and sample_scores.prompt = contest.prompt
        and sample_scores.scorer = contest.scorer
        and sample_scores.scorer_id = contest.scorer_id
        and sample_scores.metric = contest.metric
    semi join repeated_run
        on sample_scores.run_id = repeated_run.run_id
    where
        sample_scores.run_id in board_run_ids()
        and sample_scores.score is not null
),

best as (
    select
        entry.board_no,
        entry.sample_id,
        max(entry.worth) as worth
    from entry
    group by
        entry.board_no,
        entry.sample_id
),

winner as (
    select
        entry.row_no,
        entry.board_no,
        entry.sample_id
    from entry
    inner join best
        on entry.board_no = best.board_no
        and entry.sample_id = best.sample_id
        and entry.worth = best.worth
),

tie as (
    select
        winner.board_no,
        winner.sample_id,
        count(*) as n_tied
    from winner
    group by
        winner.board_no,
        winner.sample_id
),

win as (
    select
        winner.row_no,
        count(*) as n_wins,
        exact_sum(1 / tie.n_tied) as n_wins_split
    from winner
    inner join tie
        on winner.board_no = tie.board_no
        and winner.sample_id = tie.sample_id
    group by winner.row_no
)

select
    placed.task,
    placed.scorer,
    placed.metric,
    placed.is_primary,
    case
        when placed.is_ranked
            then rank() over (
                partition by placed.board_no, placed.is_ranked
                order by placed.order_score asc
            )
    end as rank,
    case
        when placed.is_ranked
            then rank() over (
                partition by placed.board_no, placed.is_ranked
                order by placed.order_score asc
            ) - 1 + count(*) over (
                partition by placed.board_no, placed.is_ranked, placed.order_score
            )
    end as rank_to,
    placed.model,
    placed.prompt,
    placed.mean,
    placed.interval_95.low as ci_low,
    placed.interval_95.high as ci_high,
    placed.stderr,
    placed.n_counted as n,
    placed.n_samples,
    placed.n_trials,
    placed.n_pass,
    placed.n_unanswered,
    placed.n_errors,
    placed.n_no_target,
    entrant_totals.n_truncated,
    placed.mean_answered,
    placed.mean_worst,
    placed.mean_best,
    case when placed.is_ranked and placed.n_ranked >= 2 then coalesce(win.n_wins, 0) / placed.n_samples end as win_rate,
    case
        when placed.is_ranked and placed.n_ranked >= 2 then coalesce(win.n_wins_split, 0) / placed.n_samples
    end as win_rate_split,
    entrant_costs.cost_usd,
    entrant_totals.input_tokens,
    entrant_totals.cache_read_tokens,
    entrant_totals.cache_write_tokens,
    entrant_totals.output_tokens,
    entrant_totals.latency_p50_ms,
    entrant_totals.latency_p95_ms,
    entrant_totals.served_models,
    run_started_at(entrant_totals.oldest_response_run_id) as oldest_answer_at,
    placed.is_ranked,
    placed.reason,
    placed.is_reference,
    placed.run_id,
    placed.scorer_id,
    placed.scorer_version
from placed
inner join entrant_totals
    on placed.run_id = entrant_totals.run_id
    and placed.model = entrant_totals.model
    and placed.prompt = entrant_totals.prompt
    and entrant_totals.run_id in board_run_ids()
left join entrant_costs
    on placed.run_id = entrant_costs.run_id
    and placed.model = entrant_costs.model
    and placed.prompt = entrant_costs.prompt
    and entrant_costs.run_id in board_run_ids()
left join win
    on placed.row_no = win.row_no
order by
    placed.task asc,
    placed.is_primary desc,
    placed.position asc,
    placed.scorer asc,
    placed.metric asc,
    placed.is_ranked desc,
    rank asc,
    placed.model asc,
    placed.prompt asc;
