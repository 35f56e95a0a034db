-- Answers that are blank, of those in which extraction found nothing.
-- One row per such answer.
-- Never NULL.
-- Source: the view `gradable` and the table `piece`.
create or replace temp table blank_answer as
with rest as (
    select piece.row
    from piece
    where piece.text is null
)

select gradable.row
from gradable
semi join rest on gradable.row = rest.row
where is_blank(gradable.text)
