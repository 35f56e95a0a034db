-- What came of the grading of runs.
-- One row per run and scorer as the task uses it now; NULL scorer: all definitions that it uses no more.
-- n_trials counts every grade of the scorer; a call that failed is no grade that failed.
-- Source: scores and definitions.
select
    scores.run_id,
    definitions.scorer,
    count(*) filter (where scores.outcome = 'scored') as n_scored,
    count(*) filter (where scores.outcome in ('judge_error', 'scorer_error')) as n_failed,
    count(*) as n_trials
from scores
left join definitions
    on scores.task = definitions.task
    and scores.scorer_id = definitions.scorer_id
    and definitions.is_current
where scores.run_id in (select unnest($run_ids::varchar[]))
group by
    scores.run_id,
    definitions.scorer
order by
    scores.run_id asc,
    definitions.scorer asc
