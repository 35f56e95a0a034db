-- Where a choice scorer looks after extraction: what the chain found, beside the options.
-- One row per answer in which a rule found something.
-- choices are those of the answer; NULL without choices.
-- Source: the table `piece` and the view `subject`.
create or replace temp view haystack as
select
    piece.row,
    piece.targets,
    subject.choices,
    piece.text,
    piece.extracted_by,
    piece.note
from piece
inner join subject using (row)
where piece.text is not null
