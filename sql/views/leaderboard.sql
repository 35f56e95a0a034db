-- The board of every task: who is best, by how much, and how sure that is.
-- One row per (task, model, prompt, scorer, metric); ranked entrants first, the others below the line with the reason.
-- Scores in the scorer's unit; intervals of 95 %; US dollars; milliseconds. NULL means not known.
-- Source: board_rows; win rates by counting; trials and prices of the run that shows the entrant.
create or replace view leaderboard as
with placed as materialized (
    select board_rows.*
    from board_rows
),

entry as materialized (
    select
        contest.row_no,
        contest.board_no,
        contest.sample_id,
        contest.worth
    from contest_scores(placed) as contest
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
                order by placed.worth desc
            )
    end as rank,
    case
        when placed.is_ranked
            then rank() over (
                partition by placed.board_no, placed.is_ranked
                order by placed.worth desc
            ) - 1 + count(*) over (
                partition by placed.board_no, placed.is_ranked, placed.worth
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
    case
        when placed.is_ranked and placed.n_ranked >= 2 then coalesce(win.n_wins, 0) / placed.n_samples
    end as win_rate,
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
    placed.scorer_version,
    case
        when placed.stderr is null and placed.n_samples > 1 then 'one cluster'
        when placed.stderr is null then why_no_interval(placed.n_samples, cast(null as bigint))
        when placed.is_ranked and placed.n_ranked < 2 then 'one ranked entrant: no win rate'
    end as stats_reason,
    case
        when entrant_costs.cost_usd is not null then null
        when entrant_totals.n_answered = 0 then 'no answer'
        when entrant_costs.n_without_usage > 0
            then format('answers without token counts: {:,}', entrant_costs.n_without_usage)
        when entrant_costs.n_without_usage = 0 then 'the model had no price on that day'
        else 'the model has no price'
    end as cost_reason
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
    placed.metric <> 'score' asc,
    placed.metric asc,
    placed.is_ranked desc,
    rank asc,
    placed.model asc,
    placed.prompt asc;

comment on view leaderboard is 'The board of every task: who is best, by how much, and how sure that is.';
comment on column leaderboard.task is 'Name of the spec.';
comment on column leaderboard.scorer is 'Name of the scorer.';
comment on column leaderboard.metric is 'Metric of the scorer; score where it has one.';
comment on column leaderboard.is_primary is 'Whether this scorer ranks the leaderboard.';
comment on column leaderboard.rank is 'Rank by mean; NULL below the line.';
comment on column leaderboard.rank_to is 'Last rank of those with the same mean; NULL below the line.';
comment on column leaderboard.model is 'Display name of the model.';
comment on column leaderboard.prompt is 'Name of the prompt.';
comment on column leaderboard.mean is 'Mean score over samples, each weighed once; NULL if nothing counts.';
comment on column leaderboard.ci_low is 'Lower end of its 95 % interval: Wilson''s for scores of 0 and 1 on a scale from 0 to 1 without clusters, else Student''s t.';
comment on column leaderboard.ci_high is 'Upper end of its 95 % interval.';
comment on column leaderboard.stderr is 'Standard error of the mean, by clusters where there are any; NULL for fewer than two.';
comment on column leaderboard.n is 'Trials (samples x epochs) that count in the mean.';
comment on column leaderboard.n_samples is 'Samples that count in the mean: what stderr and interval are over.';
comment on column leaderboard.n_trials is 'Trials planned.';
comment on column leaderboard.n_pass is 'Trials that pass.';
comment on column leaderboard.n_unanswered is 'Trials to which the model gave no gradable answer.';
comment on column leaderboard.n_errors is 'Trials without a grade because something else failed.';
comment on column leaderboard.n_no_target is 'Trials whose sample has no target.';
comment on column leaderboard.n_truncated is 'Answers that the token limit cut off, whatever the outcome.';
comment on column leaderboard.mean_answered is 'Mean without what was not answered or not graded; samples weighed once.';
comment on column leaderboard.mean_worst is 'Mean if every failed, open or excluded trial had the worst score; NULL if unbounded.';
comment on column leaderboard.mean_best is 'Mean if every failed, open or excluded trial had the best score; NULL if unbounded.';
comment on column leaderboard.win_rate is 'Share of samples on which no ranked entrant is better: a shared best score, also one of 0, is a win of each; NULL with fewer than two ranked.';
comment on column leaderboard.win_rate_split is 'The same, a shared best score split among those that have it.';
comment on column leaderboard.cost_usd is 'List price of all answers, stored ones included, in US dollars, judges not counted; NULL: see cost_reason.';
comment on column leaderboard.input_tokens is 'Uncached input tokens of the answers.';
comment on column leaderboard.cache_read_tokens is 'Input tokens read from the provider''s cache.';
comment on column leaderboard.cache_write_tokens is 'Input tokens written to the provider''s cache.';
comment on column leaderboard.output_tokens is 'Output tokens, reasoning included.';
comment on column leaderboard.latency_p50_ms is 'Median time of a call that brought an answer, in milliseconds.';
comment on column leaderboard.latency_p95_ms is '95th percentile of it.';
comment on column leaderboard.served_models is 'Model names that the provider reported.';
comment on column leaderboard.oldest_answer_at is 'Start of the oldest run that paid for one of the answers, UTC.';
comment on column leaderboard.is_ranked is 'Whether the entrant is ranked.';
comment on column leaderboard.reason is 'Why it stands below the line; NULL if ranked.';
comment on column leaderboard.is_reference is 'Whether its run is the one that others are measured against.';
comment on column leaderboard.run_id is 'Run that shows the entrant.';
comment on column leaderboard.scorer_id is 'Definition that graded it.';
comment on column leaderboard.scorer_version is 'Number of that definition under the scorer''s name, from 1.';
comment on column leaderboard.stats_reason is 'Why stderr, interval or win rates are NULL; NULL if none is, or the entrant is below the line.';
comment on column leaderboard.cost_reason is 'Why cost_usd is NULL; NULL if it is not.';
