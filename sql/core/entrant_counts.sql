-- Planned trials of an entrant in a run.
-- One row per (run_id, model, prompt).
-- A count of trials, whatever became of them.
-- Source: counting only.
create or replace view entrant_counts as
select
    trials.run_id,
    trials.model,
    trials.prompt,
    count(*) as n_trials
from trials
group by
    trials.run_id,
    trials.model,
    trials.prompt;
