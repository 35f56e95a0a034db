-- Stored answers that are blank, of those in which extraction found nothing.
-- One row per such answer.
-- Never NULL.
-- Source: the view `gradable` and the table `answer_piece`.
create or replace temp table blank_answer as
with rest as (
    select answer_piece.row
    from answer_piece
    where answer_piece.text is null
)

select gradable.row as key
from gradable
semi join rest on gradable.row = rest.row
where is_blank(gradable.text)
