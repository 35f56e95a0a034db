-- What the line of history shows.
-- One row per (task, scorer, metric, run, entrant): boards in their order, from the oldest run to the newest.
-- Scores in the scorer's unit; place counts entrants from 1 in the board's order; a new stretch begins where samples do not pair with the run before; $task NULL means all.
-- Source: history, board_rows.
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
    count(*) filter (where history.verdict is null) over (
        partition by history.task, history.scorer, history.metric, history.model, history.prompt
        order by history.run_no asc
    ) as stretch,
    dense_rank() over (
        partition by history.task, history.scorer, history.metric
        order by board_rows.row_no asc nulls last, history.model asc, history.prompt asc
    ) as place,
    case
        when count(distinct history.prompt) over by_task = 1 then history.model
        else history.model || ' · ' || history.prompt
    end as entrant
from history
left join board_rows
    on
        history.task = board_rows.task
        and history.scorer = board_rows.scorer
        and history.metric = board_rows.metric
        and history.model = board_rows.model
        and history.prompt = board_rows.prompt
where
    history.task = coalesce($task, history.task)
    and history.mean is not null
window by_task as (partition by history.task)
order by
    history.task asc,
    min(board_rows.board_no) over (partition by history.task, history.scorer, history.metric) asc nulls last,
    history.scorer asc,
    history.metric asc,
    history.run_id asc,
    place asc
