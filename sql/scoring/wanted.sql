-- The targets as they are compared.
-- One row per list of targets.
-- keys are what an answer must equal or hold; is_percent is false but for numbers; fault says why a list cannot be used.
-- Source: lists of equal length.
create or replace temp table wanted as
select
    unnest($targets::varchar[][]) as targets,
    unnest($keys::varchar[][]) as keys,
    unnest($is_percents::boolean[]) as is_percent,
    unnest($faults::varchar[]) as fault
