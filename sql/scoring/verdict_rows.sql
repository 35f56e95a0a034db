-- Verdicts that Python gave.
-- One row per row that Python looked at.
-- score is NULL with a fault.
-- Source: lists of equal length.
insert into verdict
select
    unnest($rows::bigint[]) as row,
    unnest($scores::double[]) as score,
    unnest($extracted::varchar[]) as extracted,
    unnest($extracted_by::varchar[]) as extracted_by,
    unnest($details::varchar[]) as detail,
    unnest($faults::varchar[]) as fault
