-- How many rows SQL could not decide.
-- One row.
-- Never NULL.
-- Source: counting only.
select count(*) as n
from found
where found.is_open
