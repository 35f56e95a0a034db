-- The entrants of one run.
-- One row per (model, prompt) of the run $opponent_run_id.
-- Never NULL.
-- Source: the stored table `trials`.
select distinct
    trials.model,
    trials.prompt
from trials
where trials.run_id = $opponent_run_id
order by
    trials.model asc,
    trials.prompt asc
