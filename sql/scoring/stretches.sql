-- A run's trials cut into stretches of the file that holds them, with the place of each one's first and last answer.
-- One row per $size trials of the run $run_id, in order; none unless one file holds all of them, next to each other.
-- NULL answer_file, answer_begin or answer_until where these answers are in no file, or not in one and the same.
-- Source: the live Parquet files of trials and responses, and the stored table trials.
with bounds as (
    select
        min(stored.filename) as filename,
        min(stored.file_row_number) as begin
    from read_parquet(trial_files(), schema = trial_columns()) as stored
    where stored.run_id = $run_id
    having
        min(stored.filename) = max(stored.filename)
        and max(stored.file_row_number) - min(stored.file_row_number) + 1 = count(*)
        and count(*) = (select count(*) from trials where trials.run_id = $run_id)
),

stretch as materialized (
    select
        bounds.filename,
        min(stored.file_row_number) as begin,
        max(stored.file_row_number) + 1 as until,
        arg_min(stored.response_id, stored.file_row_number) as first_id,
        arg_max(stored.response_id, stored.file_row_number) as last_id
    from read_parquet(trial_files(), schema = trial_columns()) as stored
    cross join bounds
    where stored.run_id = $run_id
    group by
        bounds.filename,
        (stored.file_row_number - bounds.begin) // $size
),

place as (
    select
        stored.response_id,
        arg_min(stored.filename, stored.file_row_number) as filename,
        min(stored.file_row_number) as place
    from read_parquet(response_files(), schema = response_columns()) as stored
    where
        stored.response_id in (select unnest([stretch.first_id, stretch.last_id]) as response_id from stretch)
        and stored.run_id in (
            select distinct trials.response_run_id
            from trials
            where
                trials.run_id = $run_id
                and trials.response_run_id is not null
        )
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
