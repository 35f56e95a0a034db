-- Planned answers with the state that each has now.
-- One row per (run_id, model, prompt, sample_id, epoch).
-- NULL response_id means not answered; tokens and milliseconds are those of the call that brought the answer.
-- Source: the live Parquet files of trials, by field id, and rows that are not in a file yet.
create or replace view trials as
select
    stored.run_id,
    stored.task,
    stored.model,
    stored.model_id,
    stored.prompt,
    stored.sample_id,
    stored.sample_hash,
    stored.dataset_id,
    stored.category,
    stored.cluster,
    stored.epoch,
    stored.input_hash,
    stored.choice_order,
    stored.request_key,
    stored.response_id,
    stored.response_run_id,
    stored.status,
    stored.error_type,
    stored.is_hit,
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
    stored.ended_at,
    stored.confidence,
    stored.error_message
from read_parquet(trial_files(), schema = trial_columns()) as stored
where is_by_then(stored.run_id)
union all
select
    partly.run_id,
    partly.task,
    partly.model,
    partly.model_id,
    partly.prompt,
    partly.sample_id,
    partly.sample_hash,
    partly.dataset_id,
    partly.category,
    partly.cluster,
    partly.epoch,
    partly.input_hash,
    partly.choice_order,
    partly.request_key,
    partly.response_id,
    partly.response_run_id,
    partly.status,
    partly.error_type,
    partly.is_hit,
    partly.stop_reason,
    partly.served_model,
    partly.latency_ms,
    partly.ttft_ms,
    partly.input_tokens,
    partly.cache_read_tokens,
    partly.cache_write_tokens,
    partly.output_tokens,
    partly.reasoning_tokens,
    partly.token_nll,
    partly.token_count,
    partly.ended_at,
    partly.confidence,
    partly.error_message
from partly_trials as partly
where is_by_then(partly.run_id)
union all
select
    loose.run_id,
    loose.task,
    loose.model,
    loose.model_id,
    loose.prompt,
    loose.sample_id,
    loose.sample_hash,
    loose.dataset_id,
    loose.category,
    loose.cluster,
    loose.epoch,
    loose.input_hash,
    loose.choice_order,
    loose.request_key,
    loose.response_id,
    loose.response_run_id,
    loose.status,
    loose.error_type,
    loose.is_hit,
    loose.stop_reason,
    loose.served_model,
    loose.latency_ms,
    loose.ttft_ms,
    loose.input_tokens,
    loose.cache_read_tokens,
    loose.cache_write_tokens,
    loose.output_tokens,
    loose.reasoning_tokens,
    loose.token_nll,
    loose.token_count,
    loose.ended_at,
    loose.confidence,
    loose.error_message
from loose_trials as loose
where is_by_then(loose.run_id);

comment on view trials is 'Planned answers with the state that each has now.';
comment on column trials.run_id is 'Run that planned the trial.';
comment on column trials.task is 'Name of the spec.';
comment on column trials.model is 'Display name of the model.';
comment on column trials.model_id is 'Identity of the model with its parameters.';
comment on column trials.prompt is 'Name of the prompt; `default` where the spec has one.';
comment on column trials.sample_id is 'Sample, unique in its dataset.';
comment on column trials.sample_hash is 'Content hash of the dataset row.';
comment on column trials.dataset_id is 'Identity of the whole dataset.';
comment on column trials.category is 'Value of the spec''s category column; NULL if none.';
comment on column trials.cluster is 'Value of the spec''s cluster column; NULL if none.';
comment on column trials.epoch is 'Repeat number, from 1.';
comment on column trials.input_hash is 'Hash of what the model was asked.';
comment on column trials.choice_order is 'JSON list: original index of each choice shown; NULL without choices.';
comment on column trials.request_key is 'Identity of the exact call.';
comment on column trials.response_id is 'Answer used; NULL unless answered.';
comment on column trials.response_run_id is 'Run that paid for that answer.';
comment on column trials.status is 'answered, error, skipped or pending.';
comment on column trials.error_type is 'Why it is an error; NULL otherwise.';
comment on column trials.is_hit is 'True if the answer was stored before this run asked.';
comment on column trials.stop_reason is 'stop, length, tool, refusal, filter or other.';
comment on column trials.served_model is 'Model name that the provider reported.';
comment on column trials.latency_ms is 'Milliseconds of the call that brought the answer.';
comment on column trials.ttft_ms is 'Milliseconds to its first token.';
comment on column trials.input_tokens is 'Uncached input tokens of that call.';
comment on column trials.cache_read_tokens is 'Input tokens read from the provider''s cache.';
comment on column trials.cache_write_tokens is 'Input tokens written to the provider''s cache.';
comment on column trials.output_tokens is 'Output tokens, reasoning included.';
comment on column trials.reasoning_tokens is 'Output tokens spent on reasoning.';
comment on column trials.token_nll is 'Sum of -ln p over the answer''s tokens, in nats.';
comment on column trials.token_count is 'Tokens that token_nll sums over.';
comment on column trials.ended_at is 'When the trial got its state, UTC.';
comment on column trials.confidence is 'Confidence in [0, 1] that the provider gave.';
comment on column trials.error_message is 'What the provider said, without keys; NULL unless error.';
