-- The answers of a warehouse that does not exist yet: none.
-- Columns as in stored_answers.
-- Always empty.
-- Source: none.
select
    null::varchar as request_key,
    null::varchar as response_run_id,
    null::varchar as response_id,
    null::varchar as stop_reason,
    null::varchar as served_model,
    null::double as confidence,
    null::double as token_nll,
    null::bigint as token_count,
    null::double as latency_ms,
    null::double as ttft_ms,
    null::bigint as input_tokens,
    null::bigint as cache_read_tokens,
    null::bigint as cache_write_tokens,
    null::bigint as output_tokens,
    null::bigint as reasoning_tokens
where false
