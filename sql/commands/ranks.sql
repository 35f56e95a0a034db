-- Where each entrant stands on the boards of some tasks.
-- One row per (task, scorer, metric, model, prompt).
-- rank is NULL below the line, and reason then says why.
-- Source: leaderboard.
select
    leaderboard.task,
    leaderboard.scorer,
    leaderboard.metric,
    leaderboard.model,
    leaderboard.prompt,
    leaderboard.rank,
    leaderboard.rank_to,
    leaderboard.mean,
    leaderboard.reason
from leaderboard
where list_contains($tasks::varchar[], leaderboard.task)
order by
    leaderboard.task asc,
    leaderboard.scorer asc,
    leaderboard.metric asc,
    leaderboard.rank asc nulls last,
    leaderboard.model asc,
    leaderboard.prompt asc
