-- How often a model errs if it answers only where it is confident enough.
-- One row per (run_id, model, prompt, scorer, metric, threshold): every confidence that occurs, the highest first.
-- coverage and risk in [0, 1]; aurc is that of the whole curve, the same in all its rows. No row without a confidence.
-- Source: confident_grades; area under the risk-coverage curve, mean risk at each answer's own threshold (Geifman and El-Yaniv 2017).
create or replace view risk_coverage as
with step as (
    select
        confident_grades.run_id,
        confident_grades.task,
        confident_grades.model,
        confident_grades.prompt,
        confident_grades.scorer,
        confident_grades.metric,
        confident_grades.confidence as threshold,
        count(*) as n_here,
        count(*) filter (where confident_grades.is_right = 0) as n_wrong_here
    from confident_grades
    group by
        confident_grades.run_id,
        confident_grades.task,
        confident_grades.model,
        confident_grades.prompt,
        confident_grades.scorer,
        confident_grades.metric,
        confident_grades.confidence
),

kept as (
    select
        step.*,
        cast(sum(step.n_here) over most_confident as bigint) as n_kept,
        cast(sum(step.n_wrong_here) over most_confident as bigint) as n_wrong,
        cast(
            sum(step.n_here) over (
                partition by step.task, step.run_id, step.model, step.prompt, step.scorer, step.metric
            ) as bigint
        ) as n
    from step
    window most_confident as (
        partition by step.task, step.run_id, step.model, step.prompt, step.scorer, step.metric
        order by step.threshold desc
        rows unbounded preceding
    )
),

whole as (
    select
        kept.run_id,
        kept.task,
        kept.model,
        kept.prompt,
        kept.scorer,
        kept.metric,
        exact_sum(kept.n_here * kept.n_wrong / kept.n_kept) / max(kept.n) as aurc
    from kept
    group by
        kept.run_id,
        kept.task,
        kept.model,
        kept.prompt,
        kept.scorer,
        kept.metric
)

select
    kept.run_id,
    kept.task,
    kept.model,
    kept.prompt,
    kept.scorer,
    kept.metric,
    kept.threshold,
    kept.n_kept,
    kept.n_wrong,
    kept.n,
    kept.n_kept / kept.n as coverage,
    kept.n_wrong / kept.n_kept as risk,
    whole.aurc
from kept
inner join whole
    on kept.run_id = whole.run_id
    and kept.task = whole.task
    and kept.model = whole.model
    and kept.prompt = whole.prompt
    and kept.scorer = whole.scorer
    and kept.metric = whole.metric
order by
    kept.run_id asc,
    kept.scorer asc,
    kept.metric asc,
    kept.model asc,
    kept.prompt asc,
    kept.threshold desc;

comment on view risk_coverage is 'How often a model errs if it answers only where it is confident enough.';
comment on column risk_coverage.run_id is 'Run.';
comment on column risk_coverage.task is 'Name of the spec.';
comment on column risk_coverage.model is 'Display name of the model.';
comment on column risk_coverage.prompt is 'Name of the prompt.';
comment on column risk_coverage.scorer is 'Name of the scorer.';
comment on column risk_coverage.metric is 'Metric of the scorer.';
comment on column risk_coverage.threshold is 'Least confidence of the answers that are kept.';
comment on column risk_coverage.n_kept is 'Answers with at least this confidence.';
comment on column risk_coverage.n_wrong is 'Those of them that do not pass.';
comment on column risk_coverage.n is 'Answers with a confidence that count.';
comment on column risk_coverage.coverage is 'Share of the answers that is kept.';
comment on column risk_coverage.risk is 'Share of the kept answers that does not pass.';
comment on column risk_coverage.aurc is 'Area under the curve: mean risk over all answers'' own thresholds; less is better.';
