-- The newest stored answer text of each planned turn.
-- One row per request_key of the relation `planned_turn` that has an answer.
-- Answers older than $not_before (UTC, NULL for no limit) are left out.
-- Source: counting only; the same order of preference as stored_answers.
select
    responses.request_key,
    responses.text
from responses
semi join planned_turn using (request_key)
where $not_before::timestamptz is null or responses.created_at >= $not_before::timestamptz
qualify row_number() over (
    partition by responses.request_key
    order by responses.created_at desc, responses.run_id desc, responses.response_id asc
) = 1
