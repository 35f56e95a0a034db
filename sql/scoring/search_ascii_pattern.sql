-- Searches one pattern, which means the same to RE2 on ASCII alone, in the texts that go with it.
-- One row per row of `patterned` with that number.
-- is_match is NULL where Python must search; whole is the match, '' without one.
-- Source: the table `patterned`; $pattern is RE2 with the meaning of Python's, its group 1 the whole match.
insert into searched
select
    patterned.row,
    patterned.number,
    case
        when $can_match_empty then regexp_matches(patterned.text, $pattern)
        else regexp_extract(patterned.text, $pattern, 1) <> ''
    end as is_match,
    regexp_extract(patterned.text, $pattern, 1) as whole,
    patterned.note,
    null as fault
from patterned
where
    patterned.number = $number
    and strlen(patterned.text) = length(patterned.text)
