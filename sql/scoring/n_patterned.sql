-- How many texts have a pattern of their own.
-- One row.
-- Never NULL.
-- Source: counting only.
select count(*) as n
from patterned
