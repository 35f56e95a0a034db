-- Trials in packs of which some rows do not count any more, without those rows.
-- One row per row of `trials` in such a pack.
-- Columns as stored.
-- Source: the packs of `partly_trial_files()`; `masks` names file, run of what a newer file replaces.
create view partly_trials as
select partly.* -- noqa: AM04
from read_parquet(partly_trial_files(), schema = trial_columns()) as partly
anti join masks
    on partly.filename = masks.file
    and partly.run_id = masks.run_id;
