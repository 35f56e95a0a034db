-- Texts in which one and the same pattern is searched.
-- One row per row of `haystack` that is not blank.
-- Never NULL.
-- Source: the view `haystack`.
create or replace temp view patterned as
select
    1 as number,
    haystack.row,
    haystack.text,
    haystack.note
from haystack
where not is_blank(haystack.text)
