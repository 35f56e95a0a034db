-- Texts beside the number of the pattern that is searched in them, together for each pattern.
-- One row per row of `haystack` that has a pattern and is not blank.
-- Never NULL.
-- Source: the views `haystack` and `subject`, the table `pattern`.
create or replace temp table patterned as
select
    pattern.number,
    haystack.row,
    haystack.text,
    haystack.note
from haystack
inner join subject on haystack.row = subject.row
inner join pattern on subject.pattern = pattern.source
where not is_blank(haystack.text)
order by pattern.number asc
