-- What a reliability diagram shows: bins of equal width, of the newest run of each entrant or of $run_id.
-- One row per (task, scorer, metric, entrant, bin), in the board's order.
-- Confidence and accuracy in [0, 1]; $task and $run_id NULL mean all.
-- Source: reliability_bins, calibration, board_rows.
select
    bins.task,
    bins.scorer,
    bins.metric,
    bins.bin_low,
    bins.bin_high,
    (bins.bin_low + bins.bin_high) / 2 as middle,
    bins.n,
    bins.mean_confidence,
    bins.accuracy,
    calibration.ece,
    case
        when count(distinct bins.prompt) over by_task = 1 then bins.model
        else bins.model || ' · ' || bins.prompt
    end as entrant
from reliability_bins as bins
inner join calibration
    on
        bins.run_id = calibration.run_id
        and bins.model = calibration.model
        and bins.prompt = calibration.prompt
        and bins.scorer = calibration.scorer
        and bins.metric = calibration.metric
left join board_rows
    on
        bins.task = board_rows.task
        and bins.scorer = board_rows.scorer
        and bins.metric = board_rows.metric
        and bins.model = board_rows.model
        and bins.prompt = board_rows.prompt
where
    bins.binning = 'width'
    and bins.task = coalesce($task, bins.task)
    and bins.run_id = coalesce($run_id, bins.run_id)
window by_task as (partition by bins.task)
qualify
    bins.run_id = max(bins.run_id) over (
        partition by bins.task, bins.scorer, bins.metric, bins.model, bins.prompt
    )
order by
    bins.task asc,
    min(board_rows.board_no) over (partition by bins.task, bins.scorer, bins.metric) asc nulls last,
    bins.scorer asc,
    bins.metric asc,
    board_rows.row_no asc nulls last,
    entrant asc,
    bins.bin asc
