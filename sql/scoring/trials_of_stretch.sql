-- The trials of the stretch in the variable `stretch`, in place of the stored table; the columns that grading reads.
-- One row per trial, in the order of the file.
-- NULL as in `trials`.
-- Source: the file that holds them.
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
from read_parquet(getvariable('stretch').trial_file, schema = trial_columns()) as stored
where
    stored.file_row_number >= getvariable('stretch').trial_begin
    and stored.file_row_number < getvariable('stretch').trial_until
