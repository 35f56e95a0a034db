-- Manifests as they are stored: those that are packed, and those in files of their own, which are newer.
-- One row per run.
-- body: the JSON text. Never NULL.
-- Source: the pack of manifests, and `loose_manifests`.
create or replace view stored_manifests as
select packed.body
from read_parquet(manifest_files()) as packed
anti join loose_manifests
    on packed.name = loose_manifests.run_id
union all
select loose_manifests.body
from loose_manifests;
