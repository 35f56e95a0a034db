-- An empty list of verdicts.
-- One row per graded answer.
-- score is NULL with a fault.
-- Source: Python fills it.
create or replace temp table verdict (
    row bigint,
    score double,
    extracted varchar,
    extracted_by varchar,
    detail varchar,
    fault varchar
)
