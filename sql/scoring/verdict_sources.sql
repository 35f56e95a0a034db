-- Says in verdicts that Python gave what an extraction rule found, and which.
-- One row per verdict on what a rule found.
-- extracted is what was compared where Python says so, else what the rule found.
-- Source: the tables `verdict` and `found`, the view `haystack`.
update verdict
set
    extracted = coalesce(verdict.extracted, piece.text),
    extracted_by = piece.extracted_by,
    detail = nullif(concat_ws('; ', piece.note, verdict.detail), '')
from (
    select
        haystack.row,
        haystack.text,
        haystack.extracted_by,
        haystack.note
    from haystack
    where haystack.extracted_by is not null
) as piece
where verdict.row = piece.row
