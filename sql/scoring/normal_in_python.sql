-- Each text after steps that Python took.
-- One row per row of `haystack` that is not blank.
-- text is never NULL.
-- Source: the table `found`.
create or replace temp view normal as
select
    found.row,
    found.targets,
    found.text,
    found.extracted_by,
    found.note
from found
where found.text is not null
