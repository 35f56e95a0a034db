-- What a scorer over whole rows sees of each trial's answer, beside what every scorer sees.
-- One row per (model, prompt, sample_id, epoch) of the run $run_id.
-- NULL where the provider said nothing of it.
-- Source: the stored tables trials and responses.
select
    trials.model,
    trials.prompt,
    trials.sample_id,
    trials.epoch,
    trials.category,
    trials.served_model,
    trials.latency_ms,
    trials.output_tokens,
    trials.reasoning_tokens,
    responses.reasoning
from trials
left join responses
    on trials.response_run_id = responses.run_id
    and trials.response_id = responses.response_id
where
    trials.run_id = $run_id
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
