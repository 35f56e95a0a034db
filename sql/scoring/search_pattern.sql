-- Searches one pattern in the texts that go with it.
-- One row per row of `patterned` with that number.
-- is_match is NULL where Python must search.
-- Source: the relation `patterned`; $pattern is RE2 with the meaning of Python's.
insert into searched
with candidate as materialized (
    select
        patterned.row,
        patterned.note,
        case
            when not $is_ascii_only or strlen(patterned.text) = length(patterned.text)
                then regexp_matches(patterned.text, $pattern)
        end as is_match,
        case
            when regexp_matches(patterned.text, $pattern) then regexp_extract(patterned.text, $pattern, 1)
        end as whole
    from patterned
    where patterned.number = $number
)

select
    candidate.row,
    $number as number,
    candidate.is_match,
    case when candidate.is_match then candidate.whole end as whole,
    candidate.note,
    null as fault
from candidate
