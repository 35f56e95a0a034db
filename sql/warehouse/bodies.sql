-- Texts that are packed by name: manifests of runs, or what was noted of grades.
-- One row per name.
-- Never NULL.
-- Source: the pack at $file.
select
    packed.name,
    packed.body
from read_parquet($file) as packed
