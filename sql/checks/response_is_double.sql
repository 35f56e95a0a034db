-- Answers stored twice by the run that paid: every join on them would count double.
-- One row per (run_id, response_id) with more than one row.
-- n counts rows.
-- Source: counting only.
select
    responses.run_id,
    responses.response_id,
    count(*) as n
from responses
group by
    responses.run_id,
    responses.response_id
having count(*) > 1
order by
    responses.run_id asc,
    responses.response_id asc
