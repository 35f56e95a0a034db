-- How many texts a search in SQL left to Python.
-- One row.
-- Never NULL.
-- Source: counting only.
select count(*) as n
from searched
where searched.is_match is null
