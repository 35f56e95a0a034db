-- Every planned trial with the state that it has now: answered by a stored answer, or pending.
-- One row per planned trial, in plan order (`ordinal`); columns of the stored table `trials` and three more.
-- `is_first_of_key` marks the trial whose request is made for all that share its request_key.
-- Source: the relations `planned` (the plan), `present` (the run's trials so far) and `stored` (answers).
select
    $run_id as run_id,
    planned.task,
    planned.model,
    planned.model_id,
    planned.prompt,
    planned.sample_id,
    planned.sample_hash,
    planned.dataset_id,
    planned.category,
    planned.cluster,
    planned.epoch,
    planned.input_hash,
    planned.choice_order,
    planned.request_key,
    stored.response_id,
    stored.response_run_id,
    case when stored.request_key is null then 'pending' else 'answered' end as status,
    stored.request_key is not null as is_hit,
    stored.stop_reason,
    stored.served_model,
    stored.latency_ms,
    stored.ttft_ms,
    stored.input_tokens,
    stored.cache_read_tokens,
    stored.cache_write_tokens,
    stored.output_tokens,
    stored.reasoning_tokens,
    stored.token_nll,
    stored.token_count,
    case when stored.request_key is null then null else $now::timestamptz end as ended_at,
    stored.confidence,
    planned.entrant,
    planned.sample,
    planned.input_bytes,
    present.sample_id is null as is_added,
    row_number() over (
        partition by planned.request_key
        order by planned.ordinal asc
    ) = 1 as is_first_of_key
from planned
left join present
    on planned.model = present.model
    and planned.prompt = present.prompt
    and planned.sample_id = present.sample_id
    and planned.epoch = present.epoch
left join stored
    on planned.request_key = stored.request_key
where
    present.sample_id is null
    or present.status in ('pending', 'skipped')
    or (present.status = 'error' and present.error_type not in ('over_context', 'filtered'))
order by planned.ordinal asc
