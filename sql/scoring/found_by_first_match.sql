-- What the first match of a pattern captures, for patterns whose group is never empty.
-- One row per row of `haystack`.
-- text is NULL where nothing is found, and where Python must look: there is_open holds.
-- Source: the view `haystack`; $pattern is RE2 with the meaning of Python's.
create or replace temp table found as
with candidate as materialized (
    select
        haystack.row,
        haystack.targets,
        haystack.extracted_by,
        haystack.note,
        case
            when not $is_ascii_only or strlen(haystack.text) = length(haystack.text)
                then regexp_extract(haystack.text, $pattern, $group)
        end as text
    from haystack
)

select
    candidate.row,
    candidate.targets,
    case when not is_blank(candidate.text) then candidate.text end as text,
    coalesce(candidate.extracted_by, $rule) as extracted_by,
    candidate.note,
    null::varchar as fault,
    candidate.text is null or (candidate.text <> '' and is_blank(candidate.text)) as is_open
from candidate
