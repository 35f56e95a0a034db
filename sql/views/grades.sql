-- Every grade by every definition that was ever used under a scorer's name.
-- One row per (run_id, model, prompt, sample_id, epoch, scorer, scorer_version, metric).
-- score is the value that counts in a mean; NULL leaves the denominator; 0 means wrong. Ask with a predicate on run_id.
-- Source: trials x definitions of the task, with their scores, answer and dataset row; a trial not graded yet is pending.
create or replace view grades as
select
    trials.run_id,
    trials.task,
    trials.model,
    trials.model_id,
    trials.prompt,
    trials.sample_id,
    trials.epoch,
    trials.category,
    trials.cluster,
    definitions.scorer,
    definitions.scorer_version,
    definitions.is_current,
    definitions.is_primary,
    definitions.scorer_id,
    coalesce(scores.metric, 'score') as metric,
    counted_score(scores.score, scores.outcome, definitions.unanswered_score) as score,
    counted_pass(
        scores.score, scores.is_pass, scores.outcome, definitions.unanswered_score, definitions.pass_threshold
    ) as is_pass,
    case
        when scores.score is not null then 'score'
        when is_unanswered(scores.outcome) and definitions.unanswered_score is not null then 'worst'
        else 'missing'
    end as counts_as,
    coalesce(scores.outcome, trial_outcome(trials.status, trials.error_type)) as outcome,
    scores.score as raw_score,
    scores.is_pass as raw_is_pass,
    scores.target,
    scores.extracted,
    scores.extracted_by,
    scores.detail,
    responses.text as response,
    responses.reasoning,
    responses.tool_calls,
    responses.messages,
    try_cast(samples.content as json) as sample,
    trials.choice_order,
    scores.confidence,
    scores.confidence_source,
    scores.judge_response_ids,
    scores.opponent_response_id,
    trials.status,
    trials.error_type,
    trials.error_message,
    trials.stop_reason,
    trials.served_model,
    trials.is_hit,
    trials.latency_ms,
    trials.ttft_ms,
    trials.input_tokens,
    trials.cache_read_tokens,
    trials.cache_write_tokens,
    trials.output_tokens,
    trials.reasoning_tokens,
    trials.token_nll,
    trials.token_count,
    trials.ended_at,
    trials.dataset_id,
    trials.sample_hash,
    trials.input_hash,
    trials.request_key,
    trials.response_id,
    trials.response_run_id
from trials
inner join definitions
    on trials.task = definitions.task
left join scores
    on trials.run_id = scores.run_id
    and trials.task = scores.task
    and definitions.scorer_id = scores.scorer_id
    and trials.model = scores.model
    and trials.prompt = scores.prompt
    and trials.sample_id = scores.sample_id
    and trials.epoch = scores.epoch
left join responses
    on trials.response_run_id = responses.run_id
    and trials.response_id = responses.response_id
left join samples
    on trials.dataset_id = samples.dataset_id
    and trials.sample_id = samples.sample_id
where definitions.is_current or scores.run_id is not null;

comment on view grades is 'Every grade by every definition that was ever used under a scorer''s name.';
comment on column grades.run_id is 'Run.';
comment on column grades.task is 'Name of the spec.';
comment on column grades.model is 'Display name of the model.';
comment on column grades.model_id is 'Identity of the model with its parameters.';
comment on column grades.prompt is 'Name of the prompt.';
comment on column grades.sample_id is 'Sample, unique in its dataset.';
comment on column grades.epoch is 'Repeat number, from 1.';
comment on column grades.category is 'Value of the category column; NULL if none.';
comment on column grades.cluster is 'Value of the cluster column; NULL if none.';
comment on column grades.scorer is 'Name of the scorer.';
comment on column grades.scorer_version is 'Number of the definition under this name, from 1.';
comment on column grades.is_current is 'Whether the task uses this definition now.';
comment on column grades.is_primary is 'Whether this scorer ranks the leaderboard.';
comment on column grades.scorer_id is 'Identity of the scorer''s whole definition.';
comment on column grades.metric is 'Metric of the scorer; score where it has one.';
comment on column grades.score is 'Score that counts: the stored one, or the worst for an unanswered trial; NULL leaves the mean.';
comment on column grades.is_pass is 'Whether it passes, as it counts; NULL where nothing counts or there is no threshold.';
comment on column grades.counts_as is 'score, worst (unanswered) or missing (leaves the denominator).';
comment on column grades.outcome is 'scored, or why not; pending until it is graded.';
comment on column grades.raw_score is 'Score as stored; NULL unless scored.';
comment on column grades.raw_is_pass is 'Whether the stored score passes; NULL unless scored.';
comment on column grades.target is 'Target as text; a JSON list where any of several is right.';
comment on column grades.extracted is 'What was compared with the target; NULL if nothing was found.';
comment on column grades.extracted_by is 'Rule that found it.';
comment on column grades.detail is 'Why: matched text, reasons, or what went wrong.';
comment on column grades.response is 'Text of the answer; NULL if there is none.';
comment on column grades.reasoning is 'Reasoning that came apart from the text; NULL if none.';
comment on column grades.tool_calls is 'JSON list of tool calls; NULL if none.';
comment on column grades.messages is 'JSON list of the messages sent; NULL without an answer.';
comment on column grades.sample is 'The dataset row as JSON: sample ->> ''question''.';
comment on column grades.choice_order is 'JSON list: original index of each choice shown; NULL without choices.';
comment on column grades.confidence is 'Confidence in [0, 1]; NULL if none.';
comment on column grades.confidence_source is 'text, logprobs, votes, provider or judge; NULL if none.';
comment on column grades.judge_response_ids is 'Judge answers behind the grade; NULL without a judge.';
comment on column grades.opponent_response_id is 'The other answer of a preference; NULL otherwise.';
comment on column grades.status is 'answered, error, skipped or pending.';
comment on column grades.error_type is 'Why the call failed; NULL otherwise.';
comment on column grades.error_message is 'What the provider said; NULL unless it failed.';
comment on column grades.stop_reason is 'stop, length, tool, refusal, filter or other.';
comment on column grades.served_model is 'Model name that the provider reported.';
comment on column grades.is_hit is 'Whether the answer was stored before the run asked.';
comment on column grades.latency_ms is 'Milliseconds of the call that brought the answer.';
comment on column grades.ttft_ms is 'Milliseconds to its first token.';
comment on column grades.input_tokens is 'Uncached input tokens of that call.';
comment on column grades.cache_read_tokens is 'Input tokens read from the provider''s cache.';
comment on column grades.cache_write_tokens is 'Input tokens written to the provider''s cache.';
comment on column grades.output_tokens is 'Output tokens, reasoning included.';
comment on column grades.reasoning_tokens is 'Output tokens spent on reasoning.';
comment on column grades.token_nll is 'Sum of -ln p over the answer''s tokens, in nats.';
comment on column grades.token_count is 'Tokens that token_nll sums over.';
comment on column grades.ended_at is 'When the trial got its state, UTC.';
comment on column grades.dataset_id is 'Identity of the whole dataset.';
comment on column grades.sample_hash is 'Content hash of the dataset row.';
comment on column grades.input_hash is 'Hash of what the model was asked.';
comment on column grades.request_key is 'Identity of the exact call.';
comment on column grades.response_id is 'Answer used; NULL unless answered.';
comment on column grades.response_run_id is 'Run that paid for that answer.';
