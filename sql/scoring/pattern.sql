-- Patterns and what RE2 makes of them.
-- One row per pattern.
-- translated is NULL where Python must search; its group 1 is the whole match. fault says what is wrong with it.
-- Source: lists of equal length.
create or replace temp table pattern as
select
    unnest($numbers::integer[]) as number,
    unnest($sources::varchar[]) as source,
    unnest($translated::varchar[]) as translated,
    unnest($is_ascii_only::boolean[]) as is_ascii_only,
    unnest($can_match_empty::boolean[]) as can_match_empty,
    unnest($faults::varchar[]) as fault
