-- Widths of the scales of the scorers by which a run is graded.
-- One row per (task, scorer).
-- NULL for a scale without bounds.
-- Source: run_definitions.
select
    run_definitions.task,
    run_definitions.scorer,
    run_definitions.score_max - run_definitions.score_min as width
from run_definitions
where run_definitions.run_id = $run_id
order by
    run_definitions.task asc,
    run_definitions.scorer asc
