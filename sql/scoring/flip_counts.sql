-- How many grades of a run would change in each way, and why.
-- One row per (change, cause).
-- NULL cause: nothing changes, or there is nothing to compare with.
-- Source: the table `flip`; counting only.
select
    flip.change,
    flip.cause,
    count(*) as n
from flip
group by
    flip.change,
    flip.cause
order by
    flip.change asc,
    flip.cause asc nulls last
