-- How the trials of one run ended.
-- One row.
-- n_errors leaves out over_context and filtered, which are answers of a kind.
-- Source: counting only.
select
    count(*) as n_trials,
    count(*) filter (
        where trials.status = 'error' and trials.error_type not in ('over_context', 'filtered')
    ) as n_errors,
    (select count(*) from scores where scores.run_id = $run_id and scores.outcome = 'scored') as n_scored
from trials
where trials.run_id = $run_id
