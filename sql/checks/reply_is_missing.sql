-- Calls that brought an answer which is not stored.
-- One row per run with such calls.
-- n counts calls.
-- Source: calls against responses.
select
    calls.run_id,
    count(*) as n
from calls
anti join responses
    on calls.run_id = responses.run_id
    and calls.response_id = responses.response_id
where calls.response_id is not null
group by calls.run_id
order by calls.run_id asc
