-- Where a rule or scorer looks: the whole answers.
-- One row per answered row.
-- extracted_by and note are NULL: nothing was extracted before.
-- Source: the view `gradable`.
create or replace temp view haystack as
select
    gradable.row,
    gradable.targets,
    gradable.choices,
    gradable.text,
    null::varchar as extracted_by,
    null::varchar as note
from gradable
