-- Numbers that are not equal to a target but may be within the tolerance: Python compares them exactly.
-- One row per such row of `verdict`, numbered from 1.
-- Left out is only what is too far even with the error of floating point.
-- Source: the tables `verdict`, `found`, `wanted` and `percent_number`.
create or replace temp table todo as
with compared as materialized (
    select
        verdict.row,
        case
            when ends_with(found.text, '%') then coalesce(percent_number.key, rtrim(found.text, '%'))
            else found.text
        end as key,
        wanted.keys
    from verdict
    inner join found on verdict.row = found.row
    inner join wanted on found.targets = wanted.targets
    left join percent_number on found.text = percent_number.text
    where verdict.score = 0
)

select
    row_number() over () as n,
    compared.row,
    compared.key,
    compared.keys
from compared
where may_be_near(compared.key, compared.keys, $abs_tol, $rel_tol)
