-- The targets as they are compared.
-- One row per list of targets.
-- keys are what an answer must equal or hold, n_needed how many of them; is_percent keeps a number's percent sign;
-- fault says why a list cannot be used.
-- Source: lists of equal length.
create or replace temp table wanted as
select
    unnest($targets::varchar[][]) as targets,
    unnest($keys::varchar[][]) as keys,
    unnest($n_needed::bigint[]) as n_needed,
    unnest($is_percents::boolean[]) as is_percent,
    unnest($faults::varchar[]) as fault
