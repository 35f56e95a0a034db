-- Whether a dataset is stored already.
-- One row if it is.
-- Never NULL.
-- Source: samples.
select distinct samples.dataset_id
from samples
where samples.dataset_id = $dataset_id
