-- Whether the targets stand in each text after the same steps on both sides.
-- One row per row of `haystack` with a target and a text that is not blank.
-- score is 1 or 0; a blank target stands in nothing. extracted is what a rule found; NULL without extraction.
-- Source: the view `haystack` and the macro `normal_text`; $is_all asks for all of several targets.
create or replace temp table verdict as
with side as materialized (
    select
        haystack.row,
        haystack.targets,
        haystack.extracted_by,
        haystack.note,
        case when haystack.extracted_by is not null then haystack.text end as extracted,
        normal_text(haystack.text, $is_lower, $is_collapsed, $is_stripped) as text
    from haystack
    where
        haystack.targets is not null
        and not is_blank(haystack.text)
),

looked as materialized (
    select
        side.*,
        targets_present(side.text, side.targets, $is_lower, $is_collapsed, $is_stripped) as present
    from side
)

select
    looked.row,
    case
        when $is_all then (len(looked.present) = len(looked.targets))::integer::double
        else (len(looked.present) > 0)::integer::double
    end as score,
    looked.extracted,
    looked.extracted_by,
    concat_ws(
        '; ',
        looked.note,
        case
            when len(looked.present) = len(looked.targets) or (len(looked.present) > 0 and not $is_all)
                then 'found: ' || list_aggregate(looked.present, 'string_agg', ', ')
            else 'missing: '
                || list_aggregate(targets_missing(looked.targets, looked.present), 'string_agg', ', ')
        end
    ) as detail,
    null::varchar as fault
from looked
