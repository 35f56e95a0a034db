-- Calls of one run that are stored already.
-- One row per call_id of $run_id.
-- Never NULL.
-- Source: calls.
select calls.call_id
from calls
where calls.run_id = $run_id
