-- What the trials of a run asked about, with the target where it is text as it stands in the dataset's row.
-- One row per (sample_id, choice_order) of the run $run_id.
-- content is NULL where nothing is left to render; is_lost holds where the warehouse has no row. $path is the JSON
-- path of the one field that the target's template names; NULL leaves every target to be rendered, unless $has_none
-- says that there are none.
-- Source: the stored tables trials and samples.
create or replace temp table asked_input as
with asked as (
    select distinct
        trials.dataset_id,
        trials.sample_id,
        trials.choice_order
    from trials
    where trials.run_id = $run_id
),

found as (
    select
        asked.sample_id,
        asked.choice_order,
        samples.content,
        json_type(samples.content, $path) = 'VARCHAR' as is_text
    from asked
    left join samples
        on asked.dataset_id = samples.dataset_id
        and asked.sample_id = samples.sample_id
)

select
    row_number() over () as n,
    found.sample_id,
    found.choice_order,
    case when found.is_text then [json_extract_string(found.content, $path)] end as targets,
    case when not $has_none and not coalesce(found.is_text, false) then found.content end as content,
    found.content is null as is_lost
from found
