-- What the heat map of pairs shows: each pair both ways.
-- One row per (task, scorer, metric, entrant, other), in the board's order.
-- Differences entrant - other in the scorer's unit; place numbers the board's rows; $task NULL means all.
-- Source: pairwise, board_rows.
with standing as (
    select
        board_rows.task,
        board_rows.scorer,
        board_rows.metric,
        board_rows.model,
        board_rows.prompt,
        board_rows.row_no as place,
        case
            when count(distinct board_rows.prompt) over by_task = 1 then board_rows.model
            else board_rows.model || ' · ' || board_rows.prompt
        end as entrant
    from board_rows
    where board_rows.task = coalesce($task, board_rows.task)
    window by_task as (partition by board_rows.task)
),

both_ways as (
    select
        pairwise.task,
        pairwise.scorer,
        pairwise.metric,
        pairwise.a_model as model,
        pairwise.a_prompt as prompt,
        pairwise.b_model as other_model,
        pairwise.b_prompt as other_prompt,
        pairwise.difference,
        pairwise.p_holm,
        pairwise.verdict
    from pairwise
    where pairwise.task = coalesce($task, pairwise.task)
    union all
    select
        pairwise.task,
        pairwise.scorer,
        pairwise.metric,
        pairwise.b_model as model,
        pairwise.b_prompt as prompt,
        pairwise.a_model as other_model,
        pairwise.a_prompt as other_prompt,
        -pairwise.difference as difference,
        pairwise.p_holm,
        case pairwise.verdict when 'better' then 'worse' when 'worse' then 'better' else pairwise.verdict end
            as verdict
    from pairwise
    where pairwise.task = coalesce($task, pairwise.task)
)

select
    both_ways.task,
    both_ways.scorer,
    both_ways.metric,
    own.entrant,
    own.place,
    other.entrant as other,
    other.place as other_place,
    both_ways.difference,
    both_ways.p_holm,
    both_ways.verdict,
    both_ways.verdict in ('better', 'worse') as is_settled
from both_ways
inner join standing as own
    on
        both_ways.task = own.task
        and both_ways.scorer = own.scorer
        and both_ways.metric = own.metric
        and both_ways.model = own.model
        and both_ways.prompt = own.prompt
inner join standing as other
    on
        both_ways.task = other.task
        and both_ways.scorer = other.scorer
        and both_ways.metric = other.metric
        and both_ways.other_model = other.model
        and both_ways.other_prompt = other.prompt
where both_ways.difference is not null
order by
    own.place asc,
    other.place asc
