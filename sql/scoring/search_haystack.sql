-- Searches one and the same pattern in every text.
-- One row per row of `haystack` that is not blank.
-- is_match is NULL where Python must search; whole is the match, '' without one.
-- Source: the view `haystack`; $pattern is RE2 with the meaning of Python's, its group 1 the whole match.
create or replace temp table searched as
with candidate as materialized (
    select
        haystack.row,
        haystack.note,
        case
            when not $is_ascii_only or strlen(haystack.text) = length(haystack.text)
                then regexp_extract(haystack.text, $pattern, 1)
        end as whole,
        $can_match_empty and regexp_matches(haystack.text, $pattern) as is_match
    from haystack
    where not is_blank(haystack.text)
)

select
    candidate.row,
    1 as number,
    case when candidate.whole is not null then candidate.is_match or candidate.whole <> '' end as is_match,
    candidate.whole,
    candidate.note,
    null::varchar as fault
from candidate
