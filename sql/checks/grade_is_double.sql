-- Trials graded twice by one definition.
-- One row per (run_id, scorer_id, metric, model, prompt, sample_id, epoch) with more than one row.
-- n counts rows.
-- Source: counting only.
select
    scores.run_id,
    scores.scorer_id,
    scores.metric,
    scores.model,
    scores.prompt,
    scores.sample_id,
    scores.epoch,
    count(*) as n
from scores
group by
    scores.run_id,
    scores.scorer_id,
    scores.metric,
    scores.model,
    scores.prompt,
    scores.sample_id,
    scores.epoch
having count(*) > 1
order by
    scores.run_id asc,
    scores.scorer_id asc,
    scores.metric asc,
    scores.model asc,
    scores.prompt asc,
    scores.sample_id asc,
    scores.epoch asc
