-- Answers of one run that are stored already.
-- One row per response_id of $run_id.
-- Never NULL.
-- Source: responses.
select responses.response_id
from responses
where responses.run_id = $run_id
