-- In how many answers nothing was found that could be compared.
-- One row.
-- Never NULL.
-- Source: counting only.
select count(*) as n
from found
where found.text is null
