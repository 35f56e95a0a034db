-- The columns of the leaderboard that fit a screen.
-- One row per (task, model, prompt, scorer, metric), in the leaderboard's order; $tasks and $run_id NULL mean all.
-- NULL rank is below the line, with the reason.
-- Source: leaderboard.
select
    leaderboard.task,
    leaderboard.scorer,
    leaderboard.metric,
    case
        when leaderboard.rank = leaderboard.rank_to then leaderboard.rank::varchar
        when leaderboard.rank is not null then concat(leaderboard.rank, '-', leaderboard.rank_to)
        else '-'
    end as rank,
    leaderboard.model,
    leaderboard.prompt,
    leaderboard.n_pass,
    leaderboard.n,
    leaderboard.mean,
    leaderboard.stderr,
    leaderboard.ci_low,
    leaderboard.ci_high,
    leaderboard.n_unanswered as unanswered,
    leaderboard.n_truncated as truncated,
    leaderboard.n_errors as errors,
    leaderboard.win_rate,
    leaderboard.cost_usd,
    leaderboard.output_tokens,
    round(leaderboard.latency_p50_ms)::bigint as p50_ms,
    leaderboard.reason
from leaderboard
where
    ($tasks::varchar[] is null or list_contains($tasks::varchar[], leaderboard.task))
    and ($run_id::varchar is null or leaderboard.run_id = $run_id::varchar)
