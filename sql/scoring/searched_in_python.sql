-- Puts what Python's searches found into `searched`.
-- One row per text and pattern.
-- is_match is NULL with a fault.
-- Source: lists of equal length.
insert into searched
select
    unnest($rows::bigint[]) as row,
    unnest($numbers::integer[]) as number,
    unnest($is_match::boolean[]) as is_match,
    unnest($wholes::varchar[]) as whole,
    unnest($notes::varchar[]) as note,
    unnest($faults::varchar[]) as fault
