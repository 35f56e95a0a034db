-- Grades of runs that failed, by the definitions that the task uses now.
-- One row per run and scorer with any.
-- n_trials counts every trial of the scorer; a call that failed is no grade that failed.
-- Source: run_scores for the definitions, scores counted.
select
    run_scores.run_id,
    run_scores.scorer,
    count(*) filter (where scores.outcome in ('judge_error', 'scorer_error')) as n_failed,
    count(*) as n_trials
from run_scores
inner join scores
    on run_scores.run_id = scores.run_id
    and run_scores.scorer_id = scores.scorer_id
    and run_scores.model = scores.model
    and run_scores.prompt = scores.prompt
    and run_scores.metric = scores.metric
where
    run_scores.run_id in (select unnest($run_ids::varchar[]))
    and run_scores.is_current
group by
    run_scores.run_id,
    run_scores.scorer
having n_failed > 0
order by
    run_scores.run_id asc,
    run_scores.scorer asc
