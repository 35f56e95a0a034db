-- How many trials each of some runs has.
-- One row per run of $run_ids that has any.
-- Never NULL.
-- Source: the stored table trials.
select
    trials.run_id,
    count(*) as n_trials
from trials
where trials.run_id in (select unnest($run_ids))
group by trials.run_id
order by trials.run_id
