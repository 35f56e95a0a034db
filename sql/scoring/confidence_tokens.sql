-- The different texts in which a confidence was found.
-- One row per text.
-- Never NULL.
-- Source: the table `found`.
select distinct found.text
from found
where found.text is not null
