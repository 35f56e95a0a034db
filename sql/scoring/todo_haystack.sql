-- Searches of one and the same pattern left to Python.
-- One row per row of `haystack` that is not blank and not yet searched, numbered from 1.
-- Never NULL.
-- Source: the view `haystack` and the table `pattern`; what `searched` has is done.
create or replace temp table todo as
with done as (
    select searched.row
    from searched
    where searched.is_match is not null
)

select
    row_number() over () as n,
    haystack.row,
    haystack.text,
    pattern.number,
    pattern.source
from haystack
cross join pattern
anti join done on haystack.row = done.row
where not is_blank(haystack.text)
