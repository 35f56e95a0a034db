-- The different lists of targets that numbers are compared with.
-- One row per list.
-- Never NULL.
-- Source: the table `found`.
select distinct found.targets
from found
where found.text is not null and found.targets is not null
