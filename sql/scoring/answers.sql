-- Every trial of one run with the answer that it used and the row that it asked about.
-- One row per trial of the run $run_id, or of part $part of $n_parts of its samples (from 0); `row` numbers them in the order of the trial's key.
-- NULL text means that there is no answer; content is NULL if the dataset's rows are lost.
-- Source: the stored tables trials, responses and samples, joined on their keys.
select
    row_number() over (
        order by trials.model asc, trials.prompt asc, trials.sample_id asc, trials.epoch asc
    ) as row,
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
    trials.confidence,
    responses.text,
    responses.tool_calls
from trials
left join responses
    on trials.response_run_id = responses.run_id
    and trials.response_id = responses.response_id
where
    trials.run_id = $run_id
    and hash(trials.sample_id) % $n_parts = $part
    and (
        responses.run_id is null
        or responses.run_id in (
            select distinct used.response_run_id from trials as used where used.run_id = $run_id
        )
    )
qualify row_number() over (
    partition by trials.model, trials.prompt, trials.sample_id, trials.epoch
    order by responses.created_at asc
) = 1
