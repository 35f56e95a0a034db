-- What the line of history shows.
-- One row per (task, scorer, metric, entrant, run), from the oldest run to the newest.
-- Scores in the scorer's unit; $task NULL means all.
-- Source: history.
select
    history.task,
    history.scorer,
    history.metric,
    history.run_id,
    history.mean,
    history.ci_low,
    history.ci_high,
    history.n,
    history.verdict,
    case
        when count(distinct history.prompt) over by_task = 1 then history.model
        else history.model || ' · ' || history.prompt
    end as entrant
from history
where
    history.task = coalesce($task, history.task)
    and history.mean is not null
window by_task as (partition by history.task)
order by
    history.task asc,
    history.is_primary desc,
    history.scorer asc,
    history.metric asc,
    history.run_id asc,
    entrant asc
