-- Trials that failed, and grades that failed.
-- One row per trial that has no answer, and per (trial, scorer, metric) whose grading failed.
-- scorer and metric are NULL where the call failed. Ask with a predicate on run_id.
-- Source: trials with status error; current grades with outcome judge_error or scorer_error.
create or replace view errors as
with failed as (
    select
        trials.run_id,
        trials.task,
        trials.model,
        trials.prompt,
        trials.sample_id,
        trials.epoch,
        'call' as stage,
        null as scorer,
        null as metric,
        trials.error_type,
        trials.error_message as message,
        trials.ended_at,
        trials.dataset_id
    from trials
    where trials.status = 'error'
    union all
    select
        graded.run_id,
        graded.task,
        graded.model,
        graded.prompt,
        graded.sample_id,
        graded.epoch,
        'grade' as stage,
        graded.scorer,
        graded.metric,
        graded.outcome as error_type,
        graded.detail as message,
        graded.ended_at,
        graded.dataset_id
    from graded
    where graded.outcome in ('judge_error', 'scorer_error')
)

select
    failed.run_id,
    failed.task,
    failed.model,
    failed.prompt,
    failed.sample_id,
    failed.epoch,
    failed.stage,
    failed.scorer,
    failed.metric,
    failed.error_type,
    failed.message,
    failed.ended_at,
    try_cast(samples.content as json) as sample
from failed
left join samples
    on failed.dataset_id = samples.dataset_id
    and failed.sample_id = samples.sample_id
order by
    failed.run_id asc,
    failed.stage asc,
    failed.scorer asc nulls first,
    failed.metric asc nulls first,
    failed.model asc,
    failed.prompt asc,
    failed.sample_id asc,
    failed.epoch asc;

comment on view errors is 'Trials that failed, and grades that failed.';
comment on column errors.run_id is 'Run.';
comment on column errors.task is 'Name of the spec.';
comment on column errors.model is 'Display name of the model.';
comment on column errors.prompt is 'Name of the prompt.';
comment on column errors.sample_id is 'Sample, unique in its dataset.';
comment on column errors.epoch is 'Repeat number, from 1.';
comment on column errors.stage is 'call (no answer) or grade (an answer, but no grade).';
comment on column errors.scorer is 'Name of the scorer; NULL where the call failed.';
comment on column errors.metric is 'Metric of the scorer; NULL where the call failed.';
comment on column errors.error_type is 'Why: an error type of calls, judge_error or scorer_error.';
comment on column errors.message is 'What the provider or the scorer said.';
comment on column errors.ended_at is 'When the trial got its state, UTC.';
comment on column errors.sample is 'The dataset row as JSON; NULL if it is lost.';
