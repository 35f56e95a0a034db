-- What a search left to Python.
-- One row per open row of `found` whose text may hold what is looked for, numbered from 1.
-- choices and targets are NULL where there are none.
-- Source: the table `found` and the view `haystack`; $hint is a pattern that every such text matches.
create or replace temp table todo as
with open as (
    select found.row
    from found
    where found.is_open
)

select
    row_number() over () as n,
    haystack.row,
    haystack.text,
    haystack.choices,
    haystack.targets
from haystack
semi join open using (row)
where $hint is null or regexp_matches(haystack.text, $hint)
