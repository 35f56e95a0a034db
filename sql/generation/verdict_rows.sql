-- Results that conditions on runs are judged by.
-- One row per row of run_scores of the runs in $run_ids, without scorers that their task has dropped since.
-- Scores in the scorer's unit; NULL as in run_scores.
-- Source: run_scores.
from run_scores
where list_contains($run_ids, run_scores.run_id) and run_scores.is_current
