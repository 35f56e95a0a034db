-- The grades of one run by one definition.
-- One row per grade of $run_id by $scorer_id.
-- Columns of the stored table.
-- Source: scores.
from scores
where
    scores.run_id = $run_id
    and scores.scorer_id = $scorer_id
