-- Searches left to Python.
-- One row per text and pattern, numbered from 1 in the order of the patterns.
-- Never NULL.
-- Source: the tables `patterned` and `pattern`; what `searched` has is done.
create or replace temp table todo as
with done as (
    select searched.row
    from searched
    where searched.is_match is not null
)

select
    row_number() over (order by patterned.number asc, patterned.row asc) as n,
    patterned.row,
    patterned.text,
    patterned.number,
    pattern.source
from patterned
inner join pattern on patterned.number = pattern.number
anti join done on patterned.row = done.row
where pattern.fault is null
