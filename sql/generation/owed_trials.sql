-- How many trials a run has, and how many of them it still owes.
-- One row.
-- n_owed of 0 means that the run is complete; an error is an ending, not a debt.
-- Source: counting only.
select
    count(*) filter (where trials.status in ('pending', 'skipped')) as n_owed,
    count(*) as n_trials
from trials
where trials.run_id = $run_id
