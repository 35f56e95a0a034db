-- Whether each pattern matched.
-- One row per text.
-- score is 1 or 0, NULL with a fault; detail is the match, or the pattern that did not match.
-- Source: the tables `searched` and `pattern`.
create or replace temp view judged as
select
    searched.row,
    searched.is_match::integer::double as score,
    case when not is_blank(searched.whole) then searched.whole end as extracted,
    case when not is_blank(searched.whole) then 'regex' end as extracted_by,
    concat_ws(
        '; ', searched.note, case when searched.is_match then searched.whole else pattern.source end
    ) as detail,
    searched.fault
from searched
inner join pattern on searched.number = pattern.number
where searched.is_match is not null or searched.fault is not null
