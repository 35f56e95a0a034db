-- Makes right what equals a target not in its group but in the whole match.
-- One row per such row of `verdict`.
-- extracted becomes the whole match, which holds the group: a target without it is not looked at.
-- Source: the tables `verdict`, `found` and `wanted`, the view `haystack`; Python has seen to the open rows itself.
update verdict
set
    score = 1,
    extracted = whole.text
from (
    with wrong as (
        select
            verdict.row,
            wanted.keys
        from verdict
        inner join found on verdict.row = found.row
        inner join wanted on found.targets = wanted.targets
        where
            verdict.score = 0
            and not found.is_open
            and contains(array_to_string(wanted.keys, chr(10)), verdict.extracted)
    )

    select
        wrong.row,
        wrong.keys,
        strip_text(regexp_extract(haystack.text, $pattern, $group)) as text
    from haystack
    inner join wrong on haystack.row = wrong.row
) as whole
where
    verdict.row = whole.row
    and list_contains(whole.keys, whole.text)
