-- Dataset rows that are left to be rendered: one batch.
-- One row per row of `asked_input` with a content, after $after and up to $until.
-- NULL choice_order means that the spec has no choices.
-- Source: the table `asked_input`.
select
    asked_input.sample_id,
    asked_input.choice_order,
    asked_input.content
from asked_input
where
    asked_input.n > $after
    and asked_input.n <= $until
    and asked_input.content is not null
order by asked_input.n asc
