-- How many texts with a pattern of their own were searched, or cannot be.
-- One row.
-- Never NULL.
-- Source: counting only.
select count(*) as n
from searched
where
    searched.is_match is not null
    or searched.fault is not null
