-- Puts what Python found into `found`.
-- One row per row that Python looked at.
-- $texts holds NULL where nothing was found, $faults NULL where nothing went wrong.
-- Source: lists of equal length.
update found
set
    text = patch.text,
    note = coalesce(patch.note, found.note),
    fault = patch.fault
from (
    select
        unnest($rows::bigint[]) as row,
        unnest($texts::varchar[]) as text,
        unnest($notes::varchar[]) as note,
        unnest($faults::varchar[]) as fault
) as patch
where found.row = patch.row
