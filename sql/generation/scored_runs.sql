-- Those of some runs that have a grade with a score.
-- One row per run.
-- No row for a run where nothing was graded, or nothing could be.
-- Source: the stored table scores.
select distinct scores.run_id
from scores
where
    scores.run_id in (select unnest($run_ids::varchar[]))
    and scores.outcome = 'scored'
order by scores.run_id asc
