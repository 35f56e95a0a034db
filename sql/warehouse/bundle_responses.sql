-- Answers that one run paid for and that a run rests on; all of them if it is the same run.
-- One row per response of $paid_by.
-- Columns of the stored table.
-- Source: responses.
from responses
where
    responses.run_id = $paid_by
    and (
        responses.run_id = $run_id
        or responses.response_id in (select answer.response_id from answers_of($run_id) as answer)
    )
