-- Calls of one run that brought answers a run rests on; all of them if it is the same run.
-- One row per call of $paid_by.
-- Columns of the stored table.
-- Source: calls.
from calls
where
    calls.run_id = $paid_by
    and (
        calls.run_id = $run_id
        or calls.response_id in (select answer.response_id from answers_of($run_id) as answer)
    )
