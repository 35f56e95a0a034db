-- Grades that contradict their outcome or their scorer's bounds.
-- One row per run and definition with such grades.
-- n counts grades: a score without `scored`, `scored` without a score, or a score outside score_min..score_max.
-- Source: scores and scorers.
select
    scores.run_id,
    scores.scorer_id,
    count(*) as n
from scores
left join scorers
    on scores.scorer_id = scorers.scorer_id
where
    (scores.outcome = 'scored') is distinct from (scores.score is not null)
    or scores.score < scorers.score_min
    or scores.score > scorers.score_max
group by
    scores.run_id,
    scores.scorer_id
order by
    scores.run_id asc,
    scores.scorer_id asc
