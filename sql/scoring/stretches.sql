-- A run's trials cut into stretches of the file that holds them, with the place of each one's first and last answer.
-- One row per $size trials of the run $run_id, in order; none unless one file holds all of them, next to each other.
-- NULL answer_file, answer_begin or answer_until where these answers are in no file, or not in one and the same.
-- Source: the live Parquet files of trials and responses, and the stored table trials.
with own as (
    select
        stored.filename,
        stored.file_row_number as place,
        stored.response_run_id,
        case when stored.status = 'answered' then stored.response_id end as response_id
    from read_parquet(trial_files(), schema = trial_columns()) as stored
    where stored.run_id = $run_id
),

bounds as (
    select
        min(own.filename) as filename,
        min(own.place) as begin
    from own
    having
        min(own.filename) = max(own.filename)
        and max(own.place) - min(own.place) + 1 = count(*)
        and count(*) = (select count(*) from trials where trials.run_id = $run_id)
),

stretch as (
    select
        bounds.filename,
        min(own.place) as begin,
        max(own.place) + 1 as until,
        arg_min(own.response_id, own.place) filter (where own.response_id is not null) as first_id,
        arg_max(own.response_id, own.place) filter (where own.response_id is not null) as last_id
    from own
    inner join bounds on own.filename = bounds.filename
    group by
        bounds.filename,
        (own.place - bounds.begin) // $size
),

place as (
    select
        stored.response_id,
        arg_min(stored.filename, stored.file_row_number) as filename,
        min(stored.file_row_number) as place
    from read_parquet(response_files(), schema = response_columns()) as stored
    where
        stored.response_id in (select unnest([stretch.first_id, stretch.last_id]) as response_id from stretch)
        and stored.run_id in (select own.response_run_id from own where own.response_run_id is not null)
    group by stored.response_id
)

select
    stretch.filename as trial_file,
    stretch.begin as trial_begin,
    stretch.until as trial_until,
    case when first.filename = last.filename then first.filename end as answer_file,
    first.place as answer_begin,
    last.place + 1 as answer_until
from stretch
left join place as first on stretch.first_id = first.response_id
left join place as last on stretch.last_id = last.response_id
order by stretch.begin asc
