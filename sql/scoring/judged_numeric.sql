-- Whether each number equals a target: as canonical texts, which are equal only if the numbers are.
-- One row per row of `found` with a number and a target.
-- score is 1 or 0, NULL with a fault. The percent sign is shown where it means something.
-- Source: the tables `found`, `wanted` and `percent_number`.
create or replace temp view judged as
select
    found.row,
    case
        when wanted.fault is null
            then list_contains(
                wanted.keys,
                case
                    when ends_with(found.text, '%') then coalesce(percent_number.key, rtrim(found.text, '%'))
                    else found.text
                end
            )::integer::double
    end as score,
    case
        when ends_with(found.text, '%') and not wanted.is_percent then rtrim(found.text, '%')
        else found.text
    end as extracted,
    found.extracted_by,
    found.note as detail,
    wanted.fault
from found
inner join wanted on found.targets = wanted.targets
left join percent_number on found.text = percent_number.text
where found.text is not null
