-- How many trials a run has.
-- One row.
-- Never NULL.
-- Source: the stored table trials.
select count(*) as n_trials
from trials
where trials.run_id = $run_id
