-- One dataset, whole.
-- One row per sample of $dataset_id.
-- Columns of the stored table.
-- Source: samples.
from samples
where samples.dataset_id = $dataset_id
