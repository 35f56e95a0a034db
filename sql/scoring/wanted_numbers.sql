-- The targets as numbers.
-- One row per list of targets.
-- keys are canonical texts; fault says why a list holds no number.
-- Source: lists of equal length.
create or replace temp table wanted as
select
    unnest($targets::varchar[][]) as targets,
    unnest($keys::varchar[][]) as keys,
    unnest($is_percents::boolean[]) as is_percent,
    unnest($faults::varchar[]) as fault
