-- Answers that Python judges: one batch.
-- One row per row of `todo` after $after, at most $size.
-- NULL as in `todo`.
-- Source: the table `todo`.
select
    todo.row,
    todo.text,
    todo.targets,
    todo.tool_calls
from todo
where todo.n > $after and todo.n <= $after + $size
order by todo.n asc
