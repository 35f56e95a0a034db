-- What is stored of the calls that a judge may make: the newest reply to each, or why there is none.
-- One row per request_key of the relation `judge_key` that was ever asked.
-- text and response_id are NULL where every attempt failed; error_type and error_message are NULL with a reply.
-- Source: responses of any run, else the last failed call; ties go to the greater run_id.
with wanted as (
    select distinct judge_key.request_key
    from judge_key
),

reply as (
    select
        responses.request_key,
        responses.response_id,
        responses.text,
        responses.stop_reason
    from responses
    semi join wanted using (request_key)
    qualify row_number() over (
        partition by responses.request_key
        order by responses.created_at desc, responses.run_id desc, responses.response_id asc
    ) = 1
),

failure as (
    select
        calls.request_key,
        calls.error_type,
        calls.error_message
    from calls
    semi join wanted using (request_key)
    where calls.status = 'error'
    qualify row_number() over (
        partition by calls.request_key
        order by calls.started_at desc, calls.call_id asc
    ) = 1
)

select
    coalesce(reply.request_key, failure.request_key) as request_key,
    reply.response_id,
    reply.text,
    reply.stop_reason,
    case when reply.request_key is null then failure.error_type end as error_type,
    case when reply.request_key is null then failure.error_message end as error_message
from reply
full outer join failure
    on reply.request_key = failure.request_key
