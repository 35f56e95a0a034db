-- The answers of a stretch, in place of the stored table.
-- One row per answer, in the order of the file.
-- NULL as in `responses`.
-- Source: the file and rows in the variable `answer_rows`; only the columns that grading reads.
create or replace temp view responses as
select
    stored.run_id,
    stored.response_id,
    stored.text
from read_parquet(getvariable('answer_rows').file, schema = response_columns()) as stored
where
    stored.file_row_number >= getvariable('answer_rows').begin
    and stored.file_row_number < getvariable('answer_rows').until
