-- Grades as stored, by every definition that was ever used.
-- One row per (run_id, model, prompt, sample_id, epoch, scorer_id, metric).
-- NULL score means not graded, for the reason in outcome; 0 means wrong.
-- Source: the live Parquet files of scores, by field id, and rows that are not in a file yet.
create or replace view scores as
select
    stored.run_id,
    stored.task,
    stored.scorer,
    stored.scorer_id,
    stored.metric,
    stored.model,
    stored.model_id,
    stored.prompt,
    stored.sample_id,
    stored.epoch,
    stored.response_id,
    stored.opponent_response_id,
    stored.target,
    stored.score,
    stored.is_pass,
    stored.outcome,
    stored.extracted,
    stored.extracted_by,
    stored.confidence,
    stored.confidence_source,
    stored.detail,
    stored.judge_response_ids
from read_parquet(score_files(), schema = score_columns()) as stored
where is_by_then(stored.run_id)
union all
select
    partly.run_id,
    partly.task,
    partly.scorer,
    partly.scorer_id,
    partly.metric,
    partly.model,
    partly.model_id,
    partly.prompt,
    partly.sample_id,
    partly.epoch,
    partly.response_id,
    partly.opponent_response_id,
    partly.target,
    partly.score,
    partly.is_pass,
    partly.outcome,
    partly.extracted,
    partly.extracted_by,
    partly.confidence,
    partly.confidence_source,
    partly.detail,
    partly.judge_response_ids
from partly_scores as partly
where is_by_then(partly.run_id)
union all
select
    loose.run_id,
    loose.task,
    loose.scorer,
    loose.scorer_id,
    loose.metric,
    loose.model,
    loose.model_id,
    loose.prompt,
    loose.sample_id,
    loose.epoch,
    loose.response_id,
    loose.opponent_response_id,
    loose.target,
    loose.score,
    loose.is_pass,
    loose.outcome,
    loose.extracted,
    loose.extracted_by,
    loose.confidence,
    loose.confidence_source,
    loose.detail,
    loose.judge_response_ids
from loose_scores as loose
where is_by_then(loose.run_id);

comment on view scores is 'Grades as stored, by every definition that was ever used.';
comment on column scores.run_id is 'Run whose trial was graded.';
comment on column scores.task is 'Name of the spec.';
comment on column scores.scorer is 'Name of the scorer in the task.';
comment on column scores.scorer_id is 'Identity of the scorer''s whole definition.';
comment on column scores.metric is 'Metric of the scorer; `score` where it has one.';
comment on column scores.model is 'Display name of the model.';
comment on column scores.model_id is 'Identity of the model with its parameters.';
comment on column scores.prompt is 'Name of the prompt.';
comment on column scores.sample_id is 'Sample, unique in its dataset.';
comment on column scores.epoch is 'Repeat number, from 1.';
comment on column scores.response_id is 'Answer that was graded; NULL if there was none.';
comment on column scores.opponent_response_id is 'The other answer of a preference; NULL otherwise.';
comment on column scores.target is 'Target as text; a JSON list where any of several is right.';
comment on column scores.score is 'Grade; NULL unless outcome is scored. 0 means wrong.';
comment on column scores.is_pass is 'Whether the score reaches the pass threshold; NULL unless scored.';
comment on column scores.outcome is 'scored, or why not.';
comment on column scores.extracted is 'What was compared with the target; NULL if nothing was found.';
comment on column scores.extracted_by is 'Rule that found it.';
comment on column scores.confidence is 'Confidence in [0, 1]; NULL if none.';
comment on column scores.confidence_source is 'text, logprobs, votes, provider or judge; NULL if none.';
comment on column scores.detail is 'Why: matched text, reasons, or what went wrong.';
comment on column scores.judge_response_ids is 'Judge answers behind the grade; NULL without a judge.';
