-- The rows of the stored table `scores` for one run and one scorer.
-- One row per trial x metric.
-- NULL score means that the outcome is not `scored`.
-- Source: the relations `answer` (what was graded), `grade` (the grades) and `judge_source` (replies behind them).
select
    $run_id as run_id,
    answer.task,
    $scorer as scorer,
    $scorer_id as scorer_id,
    grade.metric,
    answer.model,
    answer.model_id,
    answer.prompt,
    answer.sample_id,
    answer.epoch,
    answer.response_id,
    judge_source.opponent_response_id,
    answer.target,
    grade.score,
    grade.is_pass,
    grade.outcome,
    grade.extracted,
    grade.extracted_by,
    grade.confidence,
    grade.confidence_source,
    grade.detail,
    judge_source.judge_response_ids
from grade
inner join answer using (row)
left join judge_source
    on answer.row = judge_source.row
