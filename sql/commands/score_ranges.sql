-- What the means of the scorers by which a run is graded can lose at most.
-- One row per (task, scorer).
-- width in the scorer's unit; share of the mean lost. NULL where there is no bound.
-- Source: run_definitions.
select
    run_definitions.task,
    run_definitions.scorer,
    run_definitions.score_max - run_definitions.score_min as width,
    case when run_definitions.higher_is_better and run_definitions.score_min >= 0 then 1 end as share
from run_definitions
where run_definitions.run_id = $run_id
order by
    run_definitions.task asc,
    run_definitions.scorer asc
