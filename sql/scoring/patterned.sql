-- Texts beside the number of the pattern that is searched in them.
-- One row per row of `patterned_text`.
-- Never NULL but for note.
-- Source: the table `patterned_text`.
create or replace temp view patterned as
select
    patterned_text.number,
    patterned_text.row,
    patterned_text.text,
    patterned_text.note
from patterned_text
