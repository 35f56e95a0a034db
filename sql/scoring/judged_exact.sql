-- Whether each text equals a target after the same steps on both sides.
-- One row per row of `found` with a text and a target.
-- score is 1 or 0; a text of which nothing is left equals nothing.
-- Source: the tables `found` and `wanted`.
create or replace temp view judged as
select
    found.row,
    (found.text <> '' and list_contains(wanted.keys, found.text))::integer::double as score,
    found.text as extracted,
    found.extracted_by,
    found.note as detail,
    null::varchar as fault
from found
inner join wanted on found.targets = wanted.targets
where found.text is not null
