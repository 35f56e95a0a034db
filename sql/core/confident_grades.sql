-- Grades that came with a confidence.
-- One row per (run_id, model, prompt, sample_id, epoch, scorer, metric).
-- confidence in [0, 1]; is_right is 1 where the trial passes as it counts, else 0.
-- Source: scores by the newest definition that graded the run; trials that count as missing are left out.
create or replace view confident_grades as
with counted as (
    select
        scores.run_id,
        scores.task,
        scores.model,
        scores.prompt,
        run_definitions.scorer,
        run_definitions.scorer_version,
        scores.metric,
        scores.sample_id,
        scores.epoch,
        scores.confidence,
        scores.confidence_source,
        counted_pass(
            scores.score,
            scores.is_pass,
            scores.outcome,
            run_definitions.unanswered_score,
            run_definitions.pass_threshold
        ) as is_pass
    from scores
    inner join run_definitions
        on scores.run_id = run_definitions.run_id
        and scores.task = run_definitions.task
        and scores.scorer_id = run_definitions.scorer_id
    where scores.confidence is not null
)

select
    counted.run_id,
    counted.task,
    counted.model,
    counted.prompt,
    counted.scorer,
    counted.scorer_version,
    counted.metric,
    counted.sample_id,
    counted.epoch,
    counted.confidence,
    counted.confidence_source,
    case when counted.is_pass then 1.0 else 0.0 end as is_right
from counted
where counted.is_pass is not null;
