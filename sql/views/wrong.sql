-- Answers that do not pass, with question, target and answer.
-- One row per (run_id, model, prompt, sample_id, epoch, scorer, metric) that counts and does not pass.
-- score as it counts; response NULL where the model gave none; the newest run first, of it the primary scorer. Ask with a predicate on run_id.
-- Source: graded, by the current definitions; a grade without a threshold is never wrong.
create or replace view wrong as
select
    graded.run_id,
    graded.task,
    graded.model,
    graded.prompt,
    graded.sample_id,
    graded.epoch,
    graded.scorer,
    graded.metric,
    graded.score,
    graded.outcome,
    graded.target,
    graded.extracted,
    question_of(graded.messages, graded.sample) as question,
    graded.response,
    graded.stop_reason,
    graded.detail,
    graded.category,
    graded.sample
from graded
where not graded.is_pass
order by
    graded.run_id desc,
    graded.is_primary desc,
    graded.scorer asc,
    graded.metric asc,
    graded.model asc,
    graded.prompt asc,
    graded.sample_id asc,
    graded.epoch asc;

comment on view wrong is 'Answers that do not pass, with question, target and answer.';
comment on column wrong.run_id is 'Run.';
comment on column wrong.task is 'Name of the spec.';
comment on column wrong.model is 'Display name of the model.';
comment on column wrong.prompt is 'Name of the prompt.';
comment on column wrong.sample_id is 'Sample, unique in its dataset.';
comment on column wrong.epoch is 'Repeat number, from 1.';
comment on column wrong.scorer is 'Name of the scorer.';
comment on column wrong.metric is 'Metric of the scorer.';
comment on column wrong.score is 'Score as it counts.';
comment on column wrong.outcome is 'scored, or why the model gave no gradable answer.';
comment on column wrong.target is 'Target as text.';
comment on column wrong.extracted is 'What was compared with the target; NULL if nothing was found.';
comment on column wrong.question is 'Last message of the prompt, else the dataset row.';
comment on column wrong.response is 'Text of the answer; NULL if there is none.';
comment on column wrong.stop_reason is 'Why the model stopped.';
comment on column wrong.detail is 'What the scorer says of it.';
comment on column wrong.category is 'Value of the category column; NULL if none.';
comment on column wrong.sample is 'The dataset row as JSON.';
