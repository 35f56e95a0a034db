-- Manifests that are packed, each with what runs are chosen by.
-- One row per name, which is the run_id.
-- known: task and started_at, as texts; NULL where the manifest does not say. Never NULL otherwise.
-- Source: the pack at $file; an error if a text is no JSON.
select
    packed.name,
    packed.body,
    packed.body ->> ['$.task', '$.started_at'] as known
from read_parquet($file) as packed
