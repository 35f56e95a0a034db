-- Trials with their grades by the current definition of each scorer: the fact to start from.
-- One row per (run_id, model, prompt, sample_id, epoch, scorer, metric).
-- score is the value that counts in a mean; NULL leaves the denominator; 0 means wrong. Ask with a predicate on run_id.
-- Source: grades of the current definitions; avg(score) of a run's entrant is the board's mean where epochs are balanced.
create or replace view graded as
select
    grades.run_id,
    grades.task,
    grades.model,
    grades.model_id,
    grades.prompt,
    grades.sample_id,
    grades.epoch,
    grades.category,
    grades.cluster,
    grades.scorer,
    grades.scorer_version,
    grades.is_primary,
    grades.scorer_id,
    grades.metric,
    grades.score,
    grades.is_pass,
    grades.counts_as,
    grades.outcome,
    grades.raw_score,
    grades.raw_is_pass,
    grades.target,
    grades.extracted,
    grades.extracted_by,
    grades.detail,
    grades.response,
    grades.reasoning,
    grades.tool_calls,
    grades.messages,
    grades.sample,
    grades.choice_order,
    grades.confidence,
    grades.confidence_source,
    grades.judge_response_ids,
    grades.opponent_response_id,
    grades.status,
    grades.error_type,
    grades.error_message,
    grades.stop_reason,
    grades.served_model,
    grades.is_hit,
    grades.latency_ms,
    grades.ttft_ms,
    grades.input_tokens,
    grades.cache_read_tokens,
    grades.cache_write_tokens,
    grades.output_tokens,
    grades.reasoning_tokens,
    grades.token_nll,
    grades.token_count,
    grades.ended_at,
    grades.dataset_id,
    grades.sample_hash,
    grades.input_hash,
    grades.request_key,
    grades.response_id,
    grades.response_run_id
from grades
where grades.is_current;

comment on view graded is 'Trials with their grades by the current definition of each scorer: the fact to start from.';
comment on column graded.run_id is 'Run.';
comment on column graded.task is 'Name of the spec.';
comment on column graded.model is 'Display name of the model.';
comment on column graded.model_id is 'Identity of the model with its parameters.';
comment on column graded.prompt is 'Name of the prompt.';
comment on column graded.sample_id is 'Sample, unique in its dataset.';
comment on column graded.epoch is 'Repeat number, from 1.';
comment on column graded.category is 'Value of the category column; NULL if none.';
comment on column graded.cluster is 'Value of the cluster column; NULL if none.';
comment on column graded.scorer is 'Name of the scorer.';
comment on column graded.scorer_version is 'Number of the definition under this name, from 1.';
comment on column graded.is_primary is 'Whether this scorer ranks the leaderboard.';
comment on column graded.scorer_id is 'Identity of the scorer''s whole definition.';
comment on column graded.metric is 'Metric of the scorer; score where it has one.';
comment on column graded.score is 'Score that counts: the stored one, or the worst for an unanswered trial; NULL leaves the mean.';
comment on column graded.is_pass is 'Whether it passes, as it counts; NULL where nothing counts or there is no threshold.';
comment on column graded.counts_as is 'score, worst (unanswered) or missing (leaves the denominator).';
comment on column graded.outcome is 'scored, or why not; pending until it is graded.';
comment on column graded.raw_score is 'Score as stored; NULL unless scored.';
comment on column graded.raw_is_pass is 'Whether the stored score passes; NULL unless scored.';
comment on column graded.target is 'Target as text; a JSON list where any of several is right.';
comment on column graded.extracted is 'What was compared with the target; NULL if nothing was found.';
comment on column graded.extracted_by is 'Rule that found it.';
comment on column graded.detail is 'Why: matched text, reasons, or what went wrong.';
comment on column graded.response is 'Text of the answer; NULL if there is none.';
comment on column graded.reasoning is 'Reasoning that came apart from the text; NULL if none.';
comment on column graded.tool_calls is 'JSON list of tool calls; NULL if none.';
comment on column graded.messages is 'JSON list of the messages sent; NULL without an answer.';
comment on column graded.sample is 'The dataset row as JSON: sample ->> ''question''.';
comment on column graded.choice_order is 'JSON list: original index of each choice shown; NULL without choices.';
comment on column graded.confidence is 'Confidence in [0, 1]; NULL if none.';
comment on column graded.confidence_source is 'text, logprobs, votes, provider or judge; NULL if none.';
comment on column graded.judge_response_ids is 'Judge answers behind the grade; NULL without a judge.';
comment on column graded.opponent_response_id is 'The other answer of a preference; NULL otherwise.';
comment on column graded.status is 'answered, error, skipped or pending.';
comment on column graded.error_type is 'Why the call failed; NULL otherwise.';
comment on column graded.error_message is 'What the provider said; NULL unless it failed.';
comment on column graded.stop_reason is 'stop, length, tool, refusal, filter or other.';
comment on column graded.served_model is 'Model name that the provider reported.';
comment on column graded.is_hit is 'Whether the answer was stored before the run asked.';
comment on column graded.latency_ms is 'Milliseconds of the call that brought the answer.';
comment on column graded.ttft_ms is 'Milliseconds to its first token.';
comment on column graded.input_tokens is 'Uncached input tokens of that call.';
comment on column graded.cache_read_tokens is 'Input tokens read from the provider''s cache.';
comment on column graded.cache_write_tokens is 'Input tokens written to the provider''s cache.';
comment on column graded.output_tokens is 'Output tokens, reasoning included.';
comment on column graded.reasoning_tokens is 'Output tokens spent on reasoning.';
comment on column graded.token_nll is 'Sum of -ln p over the answer''s tokens, in nats.';
comment on column graded.token_count is 'Tokens that token_nll sums over.';
comment on column graded.ended_at is 'When the trial got its state, UTC.';
comment on column graded.dataset_id is 'Identity of the whole dataset.';
comment on column graded.sample_hash is 'Content hash of the dataset row.';
comment on column graded.input_hash is 'Hash of what the model was asked.';
comment on column graded.request_key is 'Identity of the exact call.';
comment on column graded.response_id is 'Answer used; NULL unless answered.';
comment on column graded.response_run_id is 'Run that paid for that answer.';
