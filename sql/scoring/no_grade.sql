-- An empty list of grades.
-- One row per answer and metric.
-- score and is_pass are NULL unless the outcome is `scored`.
-- Source: `grade.sql` fills it.
create or replace temp table grade (
    row bigint,
    metric varchar,
    score double,
    is_pass boolean,
    outcome varchar,
    extracted varchar,
    extracted_by varchar,
    confidence double,
    confidence_source varchar,
    detail varchar
)
