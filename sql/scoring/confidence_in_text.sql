-- Confidence that the answers state in their text.
-- One row per grade whose answer states one.
-- NULL where it is outside 0..1 or no number, with the reason in detail.
-- Source: the tables `grade` and `found`; lists of equal length give the value of each text.
update grade
set
    confidence = case when stated.value between 0 and 1 then stated.value end,
    confidence_source = case when stated.value between 0 and 1 then 'text' end,
    detail = case
        when stated.fault is not null then concat_ws('; ', grade.detail, stated.fault)
        when stated.value between 0 and 1 then grade.detail
        when stated.value is null
            then concat_ws('; ', grade.detail, 'confidence `' || stated.text || '` is no number')
        else concat_ws('; ', grade.detail, 'confidence ' || stated.value::varchar || ' is outside 0..1')
    end
from (
    with number as (
        select
            unnest($texts::varchar[]) as text,
            unnest($values::double[]) as value
    )

    select
        found.row,
        found.text,
        found.fault,
        number.value
    from found
    left join number on found.text = number.text
    where found.text is not null or found.fault is not null
) as stated
where grade.row = stated.row
