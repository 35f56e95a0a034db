-- The trials of a stretch, in place of the stored table.
-- One row per trial, in the order of the file.
-- NULL as in `trials`.
-- Source: the file and rows in the variable `trial_rows`; only the columns that grading reads.
create or replace temp view trials as
select
    stored.run_id,
    stored.task,
    stored.model,
    stored.model_id,
    stored.prompt,
    stored.sample_id,
    stored.epoch,
    stored.dataset_id,
    stored.choice_order,
    stored.response_id,
    stored.response_run_id,
    stored.status,
    stored.error_type,
    stored.stop_reason,
    stored.confidence,
    stored.token_nll,
    stored.token_count
from read_parquet(getvariable('trial_rows').file, schema = trial_columns()) as stored
where
    stored.file_row_number >= getvariable('trial_rows').begin
    and stored.file_row_number < getvariable('trial_rows').until
