-- Each text after the steps that both sides of a comparison take.
-- One row per row of `haystack` that is not blank.
-- text is never NULL.
-- Source: the view `haystack` and the macro `normal_text`.
create or replace temp table found as
select
    haystack.row,
    haystack.targets,
    normal_text(haystack.text, $is_lower, $is_collapsed, $is_stripped) as text,
    coalesce(haystack.extracted_by, $rule) as extracted_by,
    haystack.note,
    null::varchar as fault,
    false as is_open
from haystack
where not is_blank(haystack.text)
