-- Answers that are blank, of those in which nothing was found that could be compared.
-- One row per such answer.
-- Never NULL.
-- Source: the view `gradable` and the table `found`.
create or replace temp table blank_answer as
with rest as (
    select found.row
    from found
    where found.text is null
)

select gradable.row
from gradable
semi join rest on gradable.row = rest.row
where is_blank(gradable.text)
