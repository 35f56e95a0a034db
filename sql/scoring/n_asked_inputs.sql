-- How much of what was asked is lost, and how much is left to be rendered.
-- One row.
-- Never NULL.
-- Source: the table `asked_input`.
select
    count(*) as n_asked,
    count(*) filter (where asked_input.is_lost) as n_lost,
    count(asked_input.content) as n_open
from asked_input
