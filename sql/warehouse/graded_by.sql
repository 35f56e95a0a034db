-- Definitions that graded a run.
-- One row per scorer_id.
-- Never NULL.
-- Source: scores.
select distinct scores.scorer_id
from scores
where scores.run_id = $run_id
order by scores.scorer_id asc
