-- Dataset rows, as they were when a run used them.
-- One row per (dataset_id, sample_id).
-- position counts from 0; content is JSON text.
-- Source: the live Parquet files of samples, by field id, and rows that are not in a file yet.
create or replace view samples as
select
    stored.dataset_id,
    stored.sample_id,
    stored.sample_hash,
    stored.position,
    stored.content
from read_parquet(sample_files(), schema = sample_columns()) as stored
union all
select
    loose.dataset_id,
    loose.sample_id,
    loose.sample_hash,
    loose.position,
    loose.content
from loose_samples as loose;

comment on view samples is 'Dataset rows, as they were when a run used them.';
comment on column samples.dataset_id is 'Identity of the whole dataset.';
comment on column samples.sample_id is 'Sample, unique in its dataset.';
comment on column samples.sample_hash is 'Content hash of the row.';
comment on column samples.position is 'Place in the dataset, from 0.';
comment on column samples.content is 'The row as JSON text.';
