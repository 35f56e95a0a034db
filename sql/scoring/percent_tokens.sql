-- The different numbers with a percent sign that were found.
-- One row per number.
-- Never NULL.
-- Source: the table `found`.
select distinct found.text
from found
where ends_with(found.text, '%')
