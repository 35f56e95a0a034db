-- Makes right what equals a target not in its group but in the whole match.
-- One row per such row of `verdict`.
-- extracted becomes the whole match.
-- Source: the tables `verdict` and `found`, the view `haystack`; Python has seen to the open rows itself.
update verdict
set
    score = 1,
    extracted = whole.text
from (
    with wrong as (
        select verdict.row
        from verdict
        inner join found on verdict.row = found.row
        where verdict.score = 0 and not found.is_open
    )

    select
        haystack.row,
        haystack.targets,
        strip_text(regexp_extract(haystack.text, $pattern, $group)) as text
    from haystack
    semi join wrong using (row)
) as whole
where
    verdict.row = whole.row
    and equals_any_target(whole.text, whole.targets, false, false, true)
