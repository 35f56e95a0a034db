-- The trials of one run.
-- One row per trial of $run_id.
-- Columns of the stored table.
-- Source: trials.
from trials
where trials.run_id = $run_id
