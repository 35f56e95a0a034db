-- Whether the targets stand in each text after the same steps on both sides.
-- One row per row of `normal` with a target.
-- score is 1 or 0. extracted is what a rule found; NULL where the whole answer was searched.
-- Source: the view `normal` and the table `wanted`; `wanted.n_needed` says how many. A blank key stands in nothing.
create or replace temp view judged as
with looked as materialized (
    select
        normal.row,
        case when normal.extracted_by <> 'text' then normal.text end as extracted,
        case when normal.extracted_by <> 'text' then normal.extracted_by end as extracted_by,
        normal.note,
        wanted.keys,
        wanted.n_needed,
        keys_present(normal.text, wanted.keys) as present
    from normal
    inner join wanted on normal.targets = wanted.targets
),

judged as materialized (
    select
        looked.*,
        len(looked.present) >= looked.n_needed as is_right
    from looked
)

select
    judged.row,
    judged.is_right::integer::double as score,
    judged.extracted,
    judged.extracted_by,
    concat_ws(
        '; ',
        judged.note,
        case
            when judged.is_right then 'found: ' || array_to_string(judged.present, ', ')
            else 'missing: ' || array_to_string(keys_missing(judged.keys, judged.present), ', ')
        end
    ) as detail,
    null::varchar as fault
from judged
