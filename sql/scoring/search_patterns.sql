-- Searches many patterns, each in the few texts that go with it.
-- One row per row of `patterned`.
-- is_match is NULL where Python must search.
-- Source: the tables `patterned` and `pattern`; RE2 compiles a pattern for each row, which is dear for long groups.
insert into searched
with candidate as materialized (
    select
        patterned.row,
        patterned.number,
        patterned.note,
        case
            when
                pattern.translated is not null
                and (not pattern.is_ascii_only or strlen(patterned.text) = length(patterned.text))
                then regexp_extract_all(patterned.text, pattern.translated, 1)
        end as matches
    from patterned
    inner join pattern on patterned.number = pattern.number
    where pattern.fault is null
)

select
    candidate.row,
    candidate.number,
    len(candidate.matches) > 0 as is_match,
    candidate.matches[1] as whole,
    candidate.note,
    null as fault
from candidate
