-- Grades that came with a confidence.
-- One row per (run_id, model, prompt, sample_id, epoch, scorer, metric).
-- confidence in [0, 1]; is_right is 1 where the trial passes as it counts, else 0.
-- Source: counted_grades; left out are trials that count as missing, and how sure a judge is of its own verdict.
create or replace view confident_grades as
select
    counted_grades.run_id,
    counted_grades.task,
    counted_grades.model,
    counted_grades.prompt,
    counted_grades.scorer,
    counted_grades.scorer_version,
    counted_grades.metric,
    counted_grades.sample_id,
    counted_grades.epoch,
    counted_grades.confidence,
    counted_grades.confidence_source,
    case when counted_grades.is_pass then 1.0 else 0.0 end as is_right
from counted_grades
where
    counted_grades.confidence is not null
    and counted_grades.is_pass is not null
    and counted_grades.confidence_source is distinct from 'judge';
