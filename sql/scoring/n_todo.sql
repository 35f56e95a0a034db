-- How much is left to Python.
-- One row.
-- Never NULL.
-- Source: counting only.
select count(*) as n
from todo
