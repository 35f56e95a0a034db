-- How many trials changed in each way, and why, in the relation `change_row`.
-- One row per (scorer, change, cause).
-- NULL cause: nothing changed, or one-sided.
-- Source: counting only.
select
    change_row.scorer,
    change_row.change,
    change_row.cause,
    count(*) as n
from change_row
group by
    change_row.scorer,
    change_row.change,
    change_row.cause
order by
    change_row.scorer asc,
    n desc,
    change_row.change asc,
    change_row.cause asc nulls last
