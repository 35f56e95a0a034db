-- Grades in packs of which some rows do not count any more, without those rows.
-- One row per row of `scores` in such a pack.
-- Columns as stored.
-- Source: the packs of `partly_score_files()`; `masks` names file, run and scorer of what a newer file replaces.
create view partly_scores as
select partly.* -- noqa: AM04
from read_parquet(partly_score_files(), schema = score_columns()) as partly
anti join masks
    on partly.filename = masks.file
    and partly.run_id = masks.run_id
    and starts_with(partly.scorer_id, masks.scorer12);
