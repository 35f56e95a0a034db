-- How large the answers of a run are, as far as the stored files tell without being read.
-- One row.
-- Bytes: the largest mean of any row group that may hold an answer of the run $run_id; NULL if there is none.
-- Source: the footers of the live Parquet files of responses, and rows that are not in a file yet.
with payers as (
    select distinct trials.response_run_id as run_id
    from trials
    where
        trials.run_id = $run_id
        and trials.response_run_id is not null
),

row_groups as (
    select
        columns.file_name,
        columns.row_group_id,
        max(columns.row_group_num_rows) as n_rows,
        max(columns.stats_min_value) filter (where columns.path_in_schema = 'run_id') as first_run_id,
        max(columns.stats_max_value) filter (where columns.path_in_schema = 'run_id') as last_run_id,
        sum(columns.total_uncompressed_size) filter (
            where columns.path_in_schema in ('text', 'tool_calls')
        ) as n_bytes
    from parquet_metadata(response_files()) as columns
    group by all
),

mean as (
    select row_groups.n_bytes / nullif(row_groups.n_rows, 0) as n_bytes
    from row_groups
    where
        exists (
            select payers.run_id
            from payers
            where payers.run_id between row_groups.first_run_id and row_groups.last_run_id
        )
    union all
    select avg(strlen(loose.text) + coalesce(strlen(loose.tool_calls), 0)) as n_bytes
    from loose_responses as loose
    where loose.run_id in (select payers.run_id from payers)
)

select max(mean.n_bytes)::double as n_bytes
from mean
