-- Runs that do not have the trials which their manifest says.
-- One row per such run.
-- n counts trials; n_pending counts those without an answer or an error where the run is said to be complete.
-- Source: manifests against trials.
select
    manifests.run_id,
    manifests.n_trials,
    count(trials.run_id) as n,
    count(*) filter (where manifests.status = 'complete' and trials.status = 'pending') as n_pending
from manifests
left join trials
    on manifests.run_id = trials.run_id
group by
    manifests.run_id,
    manifests.n_trials
having
    count(trials.run_id) <> manifests.n_trials
    or count(*) filter (where manifests.status = 'complete' and trials.status = 'pending') > 0
order by manifests.run_id asc
