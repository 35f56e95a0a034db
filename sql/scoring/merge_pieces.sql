-- Puts what a later rule of a chain found into `piece`.
-- One row per answer in which it found something, or failed.
-- text stays NULL where no rule found anything.
-- Source: the table `found`.
update piece
set
    text = found.text,
    extracted_by = found.extracted_by,
    note = coalesce(found.note, piece.note),
    fault = found.fault
from found
where
    found.row = piece.row
    and (found.text is not null or found.fault is not null)
