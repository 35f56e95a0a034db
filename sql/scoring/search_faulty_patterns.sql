-- Texts whose pattern is no regular expression.
-- One row per row of `patterned` with such a pattern.
-- is_match is NULL; fault says why.
-- Source: the tables `patterned` and `pattern`.
insert into searched
select
    patterned.row,
    patterned.number,
    null as is_match,
    null as whole,
    patterned.note,
    pattern.fault
from patterned
inner join pattern on patterned.number = pattern.number
where pattern.fault is not null
