-- Every trial of one run, and in which part of the run it is graded: all trials of a sample are in one.
-- One row per trial of the run $run_id; `part` counts from 0 to $n_parts - 1.
-- NULL response_id means that there is no answer.
-- Source: the stored table trials.
select
    (hash(trials.sample_id) % $n_parts)::integer as part,
    trials.run_id,
    trials.task,
    trials.model,
    trials.model_id,
    trials.prompt,
    concat(trials.model, chr(31), trials.prompt) as entrant,
    trials.sample_id,
    trials.sample_hash,
    trials.epoch,
    trials.dataset_id,
    trials.choice_order,
    trials.status,
    trials.error_type,
    trials.response_id,
    trials.response_run_id,
    trials.stop_reason,
    trials.token_nll,
    trials.token_count,
    trials.confidence
from trials
where trials.run_id = $run_id
