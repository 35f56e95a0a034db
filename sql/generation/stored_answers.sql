-- The newest stored answer of each trial that is owed, with the numbers of the call that brought it.
-- One row per row of the relation `owed` whose request_key has an answer, in the order of `ordinal`.
-- Answers older than $not_before (UTC, NULL for no limit) are left out; NULL numbers were not reported.
-- Source: counting only; ties of created_at go to the greater run_id, so that every machine agrees.
with wanted as (
    select distinct owed.request_key
    from owed
),

newest as (
    select
        responses.request_key,
        responses.run_id as response_run_id,
        responses.response_id,
        responses.stop_reason,
        responses.served_model,
        responses.confidence,
        responses.token_nll,
        responses.token_count
    from responses
    semi join wanted using (request_key)
    where $not_before::timestamptz is null or responses.created_at >= $not_before::timestamptz
    qualify row_number() over (
        partition by responses.request_key
        order by responses.created_at desc, responses.run_id desc, responses.response_id asc
    ) = 1
),

measured as (
    select
        calls.run_id,
        calls.request_key,
        calls.response_id,
        calls.latency_ms,
        calls.ttft_ms,
        calls.input_tokens,
        calls.cache_read_tokens,
        calls.cache_write_tokens,
        calls.output_tokens,
        calls.reasoning_tokens
    from calls
    semi join newest
        on calls.request_key = newest.request_key
        and calls.run_id = newest.response_run_id
        and calls.response_id = newest.response_id
    where calls.status = 'ok'
    qualify row_number() over (
        partition by calls.run_id, calls.request_key, calls.response_id
        order by calls.started_at asc, calls.call_id asc
    ) = 1
)

select
    owed.ordinal,
    newest.response_run_id,
    newest.response_id,
    newest.stop_reason,
    newest.served_model,
    newest.confidence,
    newest.token_nll,
    newest.token_count,
    measured.latency_ms,
    measured.ttft_ms,
    measured.input_tokens,
    measured.cache_read_tokens,
    measured.cache_write_tokens,
    measured.output_tokens,
    measured.reasoning_tokens
from owed
inner join newest on owed.request_key = newest.request_key
left join measured
    on newest.request_key = measured.request_key
    and newest.response_run_id = measured.run_id
    and newest.response_id = measured.response_id
order by owed.ordinal asc
