-- A search that SQL leaves to Python: every place is open.
-- One row per row of `haystack`.
-- text is NULL until Python finds something.
-- Source: the view `haystack`.
create or replace temp table found as
select
    haystack.row,
    haystack.targets,
    null::varchar as text,
    coalesce(haystack.extracted_by, $rule) as extracted_by,
    haystack.note,
    null::varchar as fault,
    true as is_open
from haystack
