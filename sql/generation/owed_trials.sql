-- How many trials a run still owes.
-- One row.
-- 0 means that the run is complete; an error is an ending, not a debt.
-- Source: counting only.
select count(*) as n_owed
from trials
where
    trials.run_id = $run_id
    and trials.status in ('pending', 'skipped')
