-- Rows of every board, numbered in the order of the board.
-- One row per (task, model, prompt, scorer, metric).
-- board_no numbers the boards (task, scorer, metric), row_no all rows; n_ranked counts the ranked rows of the board.
-- Source: board_rows.
create or replace view numbered_rows as
select
    board_rows.task,
    board_rows.scorer,
    board_rows.metric,
    board_rows.model,
    board_rows.prompt,
    board_rows.run_id,
    board_rows.is_reference,
    board_rows.is_primary,
    board_rows.is_first_metric,
    board_rows.position,
    board_rows.scorer_id,
    board_rows.scorer_version,
    board_rows.score_min,
    board_rows.score_max,
    board_rows.higher_is_better,
    board_rows.unanswered_score,
    board_rows.epochs,
    board_rows.n_trials,
    board_rows.n_samples,
    board_rows.n_counted,
    board_rows.n_pass,
    board_rows.n_unanswered,
    board_rows.n_errors,
    board_rows.n_no_target,
    board_rows.mean,
    board_rows.worth,
    board_rows.stderr,
    board_rows.interval_95,
    board_rows.mean_answered,
    board_rows.mean_worst,
    board_rows.mean_best,
    board_rows.reason,
    board_rows.reason is null as is_ranked,
    row_number() over (
        order by
            board_rows.task asc,
            board_rows.scorer asc,
            board_rows.metric asc,
            board_rows.reason is null desc,
            board_rows.worth desc nulls last,
            board_rows.model asc,
            board_rows.prompt asc
    ) as row_no,
    dense_rank() over (
        order by
            board_rows.task asc,
            board_rows.scorer asc,
            board_rows.metric asc
    ) as board_no,
    count(*) filter (where board_rows.reason is null) over (
        partition by board_rows.task, board_rows.scorer, board_rows.metric
    ) as n_ranked
from board_rows;
