-- Where a later rule of a chain looks: the whole answers in which no rule before it found anything.
-- One row per such answer.
-- extracted_by and note are NULL: nothing was extracted before.
-- Source: the view `gradable` and the table `piece`.
create or replace temp view haystack as
with rest as (
    select piece.row
    from piece
    where piece.text is null and piece.fault is null
)

select
    gradable.row,
    gradable.targets,
    gradable.choices,
    gradable.text,
    null::varchar as extracted_by,
    null::varchar as note
from gradable
semi join rest using (row)
