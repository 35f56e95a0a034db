-- The same rows, told to the planner as few.
-- A table; `relation` is the name of a named step or a view.
-- For what is few by its nature, though counted from millions of rows: windows and joins over it are planned for billions.
-- Source: a list of all rows is one row to the planner.
create or replace macro few(relation) as table
select unnest(listed.entry)
from (
    select unnest(list(given)) as entry
    from query_table(relation) as given
) as listed;
