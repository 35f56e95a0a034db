-- What the first or last match of a pattern captures, from the list of all matches.
-- One row per row of `haystack`.
-- text is NULL where nothing is found, and where Python must look: there is_open holds.
-- Source: the view `haystack`; $pattern is RE2 with the meaning of Python's, $place is 1 or -1.
create or replace temp table found as
with candidate as materialized (
    select
        haystack.row,
        haystack.targets,
        haystack.extracted_by,
        haystack.note,
        case
            when not $is_ascii_only or strlen(haystack.text) = length(haystack.text)
                then regexp_extract_all(haystack.text, $pattern, $group)
        end as matches
    from haystack
),

chosen as materialized (
    select
        candidate.row,
        candidate.targets,
        candidate.extracted_by,
        candidate.note,
        len(candidate.matches) as n_matches,
        coalesce(candidate.matches[$place], '') as text
    from candidate
)

select
    chosen.row,
    chosen.targets,
    case when not is_blank(chosen.text) then chosen.text end as text,
    coalesce(chosen.extracted_by, $rule) as extracted_by,
    chosen.note,
    null::varchar as fault,
    chosen.n_matches is null or (chosen.n_matches > 0 and is_blank(chosen.text)) as is_open
from chosen
