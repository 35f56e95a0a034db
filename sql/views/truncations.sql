-- Answers that the token limit cut off.
-- One row per (run_id, model, prompt, sample_id, epoch, metric), with the grade by the primary scorer.
-- Tokens of the answer; score as it counts. Ask with a predicate on run_id.
-- Source: graded by the primary scorer, stop_reason = length, whatever the outcome.
create or replace view truncations as
select
    graded.run_id,
    graded.task,
    graded.model,
    graded.prompt,
    graded.sample_id,
    graded.epoch,
    graded.scorer,
    graded.metric,
    graded.outcome,
    graded.score,
    graded.output_tokens,
    graded.reasoning_tokens,
    graded.target,
    question_of(graded.messages, graded.sample) as question,
    graded.response,
    graded.sample
from graded
where
    graded.stop_reason = 'length'
    and graded.is_primary
order by
    graded.run_id asc,
    graded.model asc,
    graded.prompt asc,
    graded.sample_id asc,
    graded.epoch asc,
    graded.metric asc;

comment on view truncations is 'Answers that the token limit cut off.';
comment on column truncations.run_id is 'Run.';
comment on column truncations.task is 'Name of the spec.';
comment on column truncations.model is 'Display name of the model.';
comment on column truncations.prompt is 'Name of the prompt.';
comment on column truncations.sample_id is 'Sample, unique in its dataset.';
comment on column truncations.epoch is 'Repeat number, from 1.';
comment on column truncations.scorer is 'Name of the primary scorer.';
comment on column truncations.metric is 'Metric of the scorer.';
comment on column truncations.outcome is 'scored, or why not.';
comment on column truncations.score is 'Score as it counts.';
comment on column truncations.output_tokens is 'Output tokens, reasoning included.';
comment on column truncations.reasoning_tokens is 'Output tokens spent on reasoning.';
comment on column truncations.target is 'Target as text.';
comment on column truncations.question is 'Last message of the prompt, else the dataset row.';
comment on column truncations.response is 'Text up to where it was cut.';
comment on column truncations.sample is 'The dataset row as JSON.';
