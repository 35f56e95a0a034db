-- The first line of each text that is not blank, stripped.
-- One row per row of `haystack`.
-- text is NULL where every line is blank.
-- Source: the view `haystack` and the macro `white_space`; lines end at \n.
create or replace temp table found as
with candidate as materialized (
    select
        haystack.row,
        haystack.targets,
        haystack.extracted_by,
        haystack.note,
        strip_text(regexp_extract(haystack.text, '[^' || white_space() || '][^\n]*')) as text
    from haystack
)

select
    candidate.row,
    candidate.targets,
    case when candidate.text <> '' then candidate.text end as text,
    coalesce(candidate.extracted_by, $rule) as extracted_by,
    candidate.note,
    null::varchar as fault,
    false as is_open
from candidate
