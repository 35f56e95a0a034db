-- Runs that a leaderboard may read.
-- One row per run of `board_candidates`.
-- is_reference: others are measured against it; is_sure: its coverage needs no comparison.
-- Source: board_candidates.
select
    board_candidates.run_id,
    bool_or(board_candidates.is_reference) as is_reference,
    bool_and(board_candidates.is_sure) as is_sure
from board_candidates
group by board_candidates.run_id
order by board_candidates.run_id asc
