-- How many entrants a run shows on its task's board.
-- One row.
-- 0 where newer runs show all of them, or nothing of it is graded; the run is $run_id.
-- Source: leaderboard; counting only.
with shown as (
    select distinct
        leaderboard.model,
        leaderboard.prompt
    from leaderboard
    where leaderboard.run_id = $run_id
)

select count(*)::bigint as n_shown
from shown
