-- Runs that the board of one task shows.
-- One row per run_id, the oldest first.
-- Never NULL; the task is $task.
-- Source: leaderboard.
select distinct leaderboard.run_id
from leaderboard
where leaderboard.task = $task
order by leaderboard.run_id asc
