-- Whether each text equals a target but for white space at their ends.
-- One row per row of `haystack` with a target and a text that is not blank.
-- score is 1 or 0.
-- Source: the view `haystack` and the table `wanted`, whose keys are stripped.
create or replace temp view judged as
with side as (
    select
        haystack.row,
        haystack.targets,
        haystack.extracted_by,
        haystack.note,
        strip_text(haystack.text) as text
    from haystack
    where not is_blank(haystack.text)
)

select
    side.row,
    list_contains(wanted.keys, side.text)::integer::double as score,
    side.text as extracted,
    coalesce(side.extracted_by, 'text') as extracted_by,
    side.note as detail,
    null::varchar as fault
from side
inner join wanted on side.targets = wanted.targets
