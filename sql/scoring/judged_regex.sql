-- Whether what a pattern captured equals a target, but for white space at their ends.
-- One row per row of `found` with a text and a target.
-- score is 1 or 0.
-- Source: the tables `found` and `wanted`, whose keys are stripped.
create or replace temp view judged as
with side as (
    select
        found.row,
        found.targets,
        found.note,
        strip_text(found.text) as text
    from found
    where found.text is not null
)

select
    side.row,
    list_contains(wanted.keys, side.text)::integer::double as score,
    side.text as extracted,
    'regex' as extracted_by,
    side.note as detail,
    null::varchar as fault
from side
inner join wanted on side.targets = wanted.targets
