-- The rows of one dataset as they were when it was loaded.
-- One row per sample of $dataset_id, in dataset order.
-- Never NULL.
-- Source: the stored table samples.
select samples.content
from samples
where samples.dataset_id = $dataset_id
order by samples.position asc
