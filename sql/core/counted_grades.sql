-- Grades by the newest definition that graded the run, with what each counts.
-- One row per (run_id, model, prompt, sample_id, epoch, scorer, metric).
-- score and is_pass as they count, NULL for what is missing; raw_score as stored; share runs from 0 (worst) to 1 (best).
-- Source: scores, `run_definitions` and its policy; share is NULL for an unbounded scorer.
create or replace view counted_grades as
select
    scores.run_id,
    scores.task,
    scores.model,
    scores.prompt,
    run_definitions.scorer,
    run_definitions.scorer_id,
    run_definitions.scorer_version,
    run_definitions.is_primary,
    run_definitions.type,
    scores.metric,
    scores.sample_id,
    scores.epoch,
    scores.target,
    scores.extracted,
    scores.outcome,
    scores.score as raw_score,
    scores.is_pass as raw_is_pass,
    counted_score(scores.score, scores.outcome, run_definitions.unanswered_score) as score,
    counted_pass(
        scores.score,
        scores.is_pass,
        scores.outcome,
        run_definitions.unanswered_score,
        run_definitions.pass_threshold
    ) as is_pass,
    case
        when run_definitions.higher_is_better then scores.score - run_definitions.score_min
        else run_definitions.score_max - scores.score
    end / nullif(run_definitions.score_max - run_definitions.score_min, 0) as share,
    scores.confidence,
    scores.confidence_source
from scores
inner join run_definitions
    on scores.run_id = run_definitions.run_id
    and scores.task = run_definitions.task
    and scores.scorer_id = run_definitions.scorer_id;
