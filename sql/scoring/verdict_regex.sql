-- Whether what a pattern captured equals a target, but for white space at their ends.
-- One row per row of `found` with a text and a target.
-- score is 1 or 0.
-- Source: the table `found`.
create or replace temp table verdict as
with side as materialized (
    select
        found.row,
        found.targets,
        found.note,
        strip_text(found.text) as text
    from found
    where
        found.text is not null
        and found.targets is not null
)

select
    side.row,
    equals_any_target(side.text, side.targets, false, false, true)::integer::double as score,
    side.text as extracted,
    'regex' as extracted_by,
    side.note as detail,
    null::varchar as fault
from side
