-- An empty list of searches.
-- One row per text and pattern.
-- is_match is NULL where Python must search; whole is the match, NULL without one.
-- Source: filled by the searches.
create or replace temp table searched (
    row bigint,
    number integer,
    is_match boolean,
    whole varchar,
    note varchar,
    fault varchar
)
