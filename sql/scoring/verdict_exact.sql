-- Whether each text equals a target after the same steps on both sides.
-- One row per row of `haystack` with a target and a text that is not blank.
-- score is 1 or 0; a target of which nothing is left equals nothing.
-- Source: the view `haystack` and the macro `normal_text`.
create or replace temp table verdict as
with side as materialized (
    select
        haystack.row,
        haystack.targets,
        haystack.extracted_by,
        haystack.note,
        normal_text(haystack.text, $is_lower, $is_collapsed, $is_stripped) as text
    from haystack
    where
        haystack.targets is not null
        and not is_blank(haystack.text)
)

select
    side.row,
    equals_any_target(
        side.text, side.targets, $is_lower, $is_collapsed, $is_stripped
    )::integer::double as score,
    side.text as extracted,
    coalesce(side.extracted_by, 'text') as extracted_by,
    side.note as detail,
    null::varchar as fault
from side
