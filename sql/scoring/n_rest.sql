-- How many answers are left for the next rule of a chain.
-- One row.
-- Never NULL.
-- Source: counting only.
select count(*) as n
from piece
where piece.text is null and piece.fault is null
