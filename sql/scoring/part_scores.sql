-- Stored grades that a combination reads: the first metric of each of its parts.
-- One row per (model, prompt, sample_id, epoch, scorer_id) of the run $run_id.
-- score is NULL unless the outcome is `scored`.
-- Source: the stored table scores; the first metric is `score`, else the first by name.
select
    scores.model,
    scores.prompt,
    scores.sample_id,
    scores.epoch,
    scores.scorer_id,
    scores.metric,
    scores.score,
    scores.is_pass,
    scores.outcome,
    scores.extracted
from scores
where
    scores.run_id = $run_id
    and list_contains($scorer_ids::varchar[], scores.scorer_id)
