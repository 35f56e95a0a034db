-- Attempts to get an answer, those that failed included.
-- One row per call_id.
-- Tokens are disjoint by kind and NULL where the provider gave no usage; milliseconds; US dollars.
-- Source: the live Parquet files of calls, by field id, and rows that are not in a file yet.
create or replace view calls as
select
    stored.call_id,
    stored.run_id,
    stored.request_key,
    stored.response_id,
    stored.provider,
    stored.model,
    stored.served_model,
    stored.role,
    stored.purpose,
    stored.turn,
    stored.attempt,
    stored.status,
    stored.error_type,
    stored.http_status,
    stored.error_message,
    stored.started_at,
    stored.latency_ms,
    stored.ttft_ms,
    stored.input_tokens,
    stored.cache_read_tokens,
    stored.cache_write_tokens,
    stored.output_tokens,
    stored.reasoning_tokens,
    stored.billed_usd
from read_parquet(call_files(), schema = call_columns()) as stored
where is_by_then(stored.run_id)
union all
select
    loose.call_id,
    loose.run_id,
    loose.request_key,
    loose.response_id,
    loose.provider,
    loose.model,
    loose.served_model,
    loose.role,
    loose.purpose,
    loose.turn,
    loose.attempt,
    loose.status,
    loose.error_type,
    loose.http_status,
    loose.error_message,
    loose.started_at,
    loose.latency_ms,
    loose.ttft_ms,
    loose.input_tokens,
    loose.cache_read_tokens,
    loose.cache_write_tokens,
    loose.output_tokens,
    loose.reasoning_tokens,
    loose.billed_usd
from loose_calls as loose
where is_by_then(loose.run_id);

comment on view calls is 'Attempts to get an answer, those that failed included.';
comment on column calls.call_id is 'Identity of the attempt: run, key, turn and attempt.';
comment on column calls.run_id is 'Run that made the call.';
comment on column calls.request_key is 'Identity of the exact call.';
comment on column calls.response_id is 'Answer that it brought; NULL for a failure.';
comment on column calls.provider is 'Provider that was asked.';
comment on column calls.model is 'Model name as requested from the provider.';
comment on column calls.served_model is 'Model name that the provider reported.';
comment on column calls.role is 'subject or judge.';
comment on column calls.purpose is 'answer, turn, vote or nudge.';
comment on column calls.turn is 'Turn of a scripted conversation, from 1.';
comment on column calls.attempt is 'Attempt number, from 1.';
comment on column calls.status is 'ok or error.';
comment on column calls.error_type is 'Closed list of providers.response.ERROR_TYPES; NULL if ok.';
comment on column calls.http_status is 'HTTP status; NULL where there was none.';
comment on column calls.error_message is 'What the provider said, without keys; NULL if ok.';
comment on column calls.started_at is 'When the attempt began, UTC.';
comment on column calls.latency_ms is 'Milliseconds from sending to the whole reply.';
comment on column calls.ttft_ms is 'Milliseconds to the first token, where it was streamed.';
comment on column calls.input_tokens is 'Uncached input tokens; NULL if the provider gave no usage.';
comment on column calls.cache_read_tokens is 'Input tokens read from the provider''s cache.';
comment on column calls.cache_write_tokens is 'Input tokens written to the provider''s cache.';
comment on column calls.output_tokens is 'Output tokens, reasoning included.';
comment on column calls.reasoning_tokens is 'Output tokens spent on reasoning.';
comment on column calls.billed_usd is 'Dollars that the provider says it billed; NULL if it does not.';
