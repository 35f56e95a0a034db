-- What the chart of the leaderboard shows.
-- One row per (task, scorer, metric, entrant), in the board's order; the primary scorer's first.
-- Scores in the scorer's unit; $task and $run_id NULL mean all.
-- Source: leaderboard.
select
    leaderboard.task,
    leaderboard.scorer,
    leaderboard.metric,
    leaderboard.mean,
    leaderboard.ci_low,
    leaderboard.ci_high,
    leaderboard.n,
    leaderboard.is_ranked,
    coalesce(leaderboard.reason, 'ranked') as standing,
    case
        when count(distinct leaderboard.prompt) over by_task = 1 then leaderboard.model
        else leaderboard.model || ' · ' || leaderboard.prompt
    end as entrant
from leaderboard
where
    leaderboard.task = coalesce($task, leaderboard.task)
    and leaderboard.run_id = coalesce($run_id, leaderboard.run_id)
    and leaderboard.mean is not null
window by_task as (partition by leaderboard.task)
order by
    leaderboard.task asc,
    leaderboard.is_primary desc,
    leaderboard.scorer asc,
    leaderboard.metric asc,
    leaderboard.is_ranked desc,
    leaderboard.rank asc nulls last,
    leaderboard.mean desc,
    entrant asc
