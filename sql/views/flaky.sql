-- Samples whose epochs disagree: asked again, the model is graded otherwise.
-- One row per (run_id, model, prompt, scorer, metric, sample_id) with two or more different scores that count.
-- Scores in the scorer's unit; pass_rate NULL for a scorer without a threshold.
-- Source: counted_grades; counting only. Scores within 1e-12 are equal.
create or replace view flaky as
select
    counted_grades.run_id,
    counted_grades.task,
    counted_grades.model,
    counted_grades.prompt,
    counted_grades.scorer,
    counted_grades.metric,
    counted_grades.sample_id,
    count(counted_grades.score) as n,
    count(*) filter (where counted_grades.is_pass) as n_pass,
    count(*) filter (where counted_grades.is_pass) / nullif(count(counted_grades.is_pass), 0) as pass_rate,
    count(*) filter (where counted_grades.is_pass) between 1 and count(counted_grades.is_pass) - 1
        as is_verdict_flaky,
    min(counted_grades.score) as score_low,
    max(counted_grades.score) as score_high,
    exact_sum(counted_grades.score) / count(counted_grades.score) as mean,
    list_sort(
        list(distinct counted_grades.extracted) filter (where counted_grades.extracted is not null)
    ) as answers,
    min(counted_grades.target) as target
from counted_grades
group by
    counted_grades.run_id,
    counted_grades.task,
    counted_grades.model,
    counted_grades.prompt,
    counted_grades.scorer,
    counted_grades.metric,
    counted_grades.sample_id
having round(min(counted_grades.score), 12) <> round(max(counted_grades.score), 12)
order by
    counted_grades.run_id asc,
    bool_or(counted_grades.is_primary) desc,
    counted_grades.scorer asc,
    counted_grades.metric asc,
    counted_grades.model asc,
    counted_grades.prompt asc,
    counted_grades.sample_id asc;

comment on view flaky is 'Samples whose epochs disagree: asked again, the model is graded otherwise.';
comment on column flaky.run_id is 'Run.';
comment on column flaky.task is 'Name of the spec.';
comment on column flaky.model is 'Display name of the model.';
comment on column flaky.prompt is 'Name of the prompt.';
comment on column flaky.scorer is 'Name of the scorer.';
comment on column flaky.metric is 'Metric of the scorer.';
comment on column flaky.sample_id is 'Sample, unique in its dataset.';
comment on column flaky.n is 'Epochs that count.';
comment on column flaky.n_pass is 'Epochs that pass, as they count.';
comment on column flaky.pass_rate is 'Share of the epochs that pass; NULL without a threshold.';
comment on column flaky.is_verdict_flaky is 'Whether some epochs pass and others do not.';
comment on column flaky.score_low is 'Least score.';
comment on column flaky.score_high is 'Greatest score.';
comment on column flaky.mean is 'Mean of the epochs.';
comment on column flaky.answers is 'Different answers that were compared with the target; NULL if nothing was extracted.';
comment on column flaky.target is 'Target as text; a JSON list where any of several is right.';
