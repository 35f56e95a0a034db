-- Where a scorer looks after extraction: what the chain found.
-- One row per answer in which a rule found something.
-- choices are NULL: what reads them takes `haystack_of_pieces_and_choices`.
-- Source: the table `piece`.
create or replace temp view haystack as
select
    piece.row,
    piece.targets,
    null::varchar[] as choices,
    piece.text,
    piece.extracted_by,
    piece.note
from piece
where piece.text is not null
