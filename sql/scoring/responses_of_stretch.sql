-- The answers of the stretch in the variable `stretch`, in place of the stored table; the columns that grading reads.
-- One row per answer, in the order of the file.
-- NULL as in `responses`.
-- Source: the file that holds them.
create or replace temp view responses as
select
    stored.run_id,
    stored.response_id,
    stored.text
from read_parquet(getvariable('stretch').answer_file, schema = response_columns()) as stored
where
    stored.file_row_number >= getvariable('stretch').answer_begin
    and stored.file_row_number < getvariable('stretch').answer_until
