-- Whether each text equals a target after the same steps on both sides.
-- One row per row of `normal` with a target.
-- score is 1 or 0; a text of which nothing is left equals nothing.
-- Source: the view `normal` and the table `wanted`.
create or replace temp view judged as
select
    normal.row,
    (normal.text <> '' and list_contains(wanted.keys, normal.text))::integer::double as score,
    normal.text as extracted,
    normal.extracted_by,
    normal.note as detail,
    null::varchar as fault
from normal
inner join wanted on normal.targets = wanted.targets
