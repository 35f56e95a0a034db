-- Answers, as content: what came back for each exact call.
-- One row per (run_id, response_id): the run that paid, and the content hash.
-- NULL means that the provider said nothing of it; an empty text is an answer without text.
-- Source: the live Parquet files of responses, by field id, and rows that are not in a file yet.
create or replace view responses as
select
    stored.run_id,
    stored.response_id,
    stored.request_key,
    stored.provider,
    stored.model,
    stored.served_model,
    stored.messages,
    stored.request,
    stored.text,
    stored.reasoning,
    stored.tool_calls,
    stored.stop_reason,
    stored.raw_stop_reason,
    stored.confidence,
    stored.logprobs,
    stored.raw,
    stored.is_text_repaired,
    stored.origin,
    stored.created_at,
    stored.token_nll,
    stored.token_count
from read_parquet(response_files(), schema = response_columns()) as stored
union all
select
    loose.run_id,
    loose.response_id,
    loose.request_key,
    loose.provider,
    loose.model,
    loose.served_model,
    loose.messages,
    loose.request,
    loose.text,
    loose.reasoning,
    loose.tool_calls,
    loose.stop_reason,
    loose.raw_stop_reason,
    loose.confidence,
    loose.logprobs,
    loose.raw,
    loose.is_text_repaired,
    loose.origin,
    loose.created_at,
    loose.token_nll,
    loose.token_count
from loose_responses as loose;

comment on view responses is 'Answers, as content: what came back for each exact call.';
comment on column responses.run_id is 'Run that paid for the answer.';
comment on column responses.response_id is 'Content hash of the answer; unique within run_id.';
comment on column responses.request_key is 'Identity of the exact call.';
comment on column responses.provider is 'Provider that was asked.';
comment on column responses.model is 'Model name as requested from the provider.';
comment on column responses.served_model is 'Model name that the provider reported; NULL if it did not.';
comment on column responses.messages is 'JSON list of the messages sent.';
comment on column responses.request is 'The hashed canonical JSON without messages.';
comment on column responses.text is 'Answer text; empty when the model sent none.';
comment on column responses.reasoning is 'Reasoning that came apart from the text; NULL if none.';
comment on column responses.tool_calls is 'JSON list of {id, name, arguments}; NULL if none.';
comment on column responses.stop_reason is 'stop, length, tool, refusal, filter or other; NULL if unknown.';
comment on column responses.raw_stop_reason is 'The provider''s own word for it.';
comment on column responses.confidence is 'Confidence in [0, 1] that the provider gave; NULL if none.';
comment on column responses.logprobs is 'JSON list of per-token log-probabilities; opt-in.';
comment on column responses.raw is 'The reply''s body as JSON; opt-in.';
comment on column responses.is_text_repaired is 'True where lone surrogates became U+FFFD.';
comment on column responses.origin is 'api, batch, import, replay or mock.';
comment on column responses.created_at is 'When the answer was received, UTC.';
comment on column responses.token_nll is 'Sum of -ln p over the answer''s tokens, in nats; NULL if unknown.';
comment on column responses.token_count is 'Tokens that token_nll sums over.';
