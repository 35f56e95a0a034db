-- Which stored answer each answered trial of a run used, and what it is compared with; equal trials once.
-- One row per different answer and sample, in the run $run_id.
-- row and key are numbers made of response_id and sample, and of response_id; `n_run_answers` tells whether they
-- name just one.
-- Source: the stored table trials and the table `run_input`.
create or replace temp table run_answer as
select distinct
    (hash(trials.response_id, trials.sample_id, trials.choice_order) // 2)::bigint as row,
    (hash(trials.response_id) // 2)::bigint as key,
    run_input.number as input
from trials
left join run_input
    on trials.sample_id = run_input.sample_id
    and trials.choice_order is not distinct from run_input.choice_order
where
    trials.run_id = $run_id
    and trials.status = 'answered'
