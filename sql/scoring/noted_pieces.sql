-- Answers in which an extraction rule failed, or found nothing in Python.
-- One row per such answer.
-- fault says what failed, note which engine looked.
-- Source: the table `piece`.
insert into noted
select
    piece.row,
    piece.note,
    piece.fault
from piece
where
    piece.text is null
    and (piece.fault is not null or piece.note is not null)
