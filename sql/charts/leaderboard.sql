-- What the chart of the leaderboard shows.
-- One row per (task, scorer, metric, entrant), in the board's order.
-- Scores in the scorer's unit; $task and $run_id NULL mean all.
-- Source: leaderboard, board_rows.
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
inner join board_rows
    on
        leaderboard.task = board_rows.task
        and leaderboard.scorer = board_rows.scorer
        and leaderboard.metric = board_rows.metric
        and leaderboard.model = board_rows.model
        and leaderboard.prompt = board_rows.prompt
where
    leaderboard.task = coalesce($task, leaderboard.task)
    and leaderboard.run_id = coalesce($run_id, leaderboard.run_id)
    and leaderboard.mean is not null
window by_task as (partition by leaderboard.task)
order by board_rows.row_no asc
