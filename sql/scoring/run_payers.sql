-- The runs that paid for the answers of a run.
-- One row per such run.
-- Never NULL.
-- Source: the stored table trials.
create or replace temp table run_payer as
select distinct trials.response_run_id as run_id
from trials
where
    trials.run_id = $run_id
    and trials.response_run_id is not null
