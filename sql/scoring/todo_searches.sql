-- Searches left to Python.
-- One row per text and pattern, numbered from 1 in the order of the patterns.
-- Never NULL.
-- Source: the tables `patterned` and `pattern`; what `searched` has is done.
create or replace temp table todo as
select
    row_number() over (order by patterned.number asc, patterned.row asc) as n,
    patterned.row,
    patterned.text,
    patterned.number,
    pattern.source
from patterned
inner join pattern on patterned.number = pattern.number
left join searched on patterned.row = searched.row
where
    pattern.fault is null
    and searched.is_match is null
