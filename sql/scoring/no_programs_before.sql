-- An empty list of programs that were run before, unless there is one.
-- One row per answer.
-- score is NULL where no code was found.
-- Source: `programs_before` fills it.
create temp table if not exists program_before (
    row bigint,
    score double,
    extracted varchar,
    extracted_by varchar,
    detail varchar
)
