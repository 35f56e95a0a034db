-- How many grades of one run have a score.
-- One row.
-- 0 where nothing was graded, or nothing could be.
-- Source: counting only.
select count(*) as n_scored
from scores
where
    scores.run_id = $run_id
    and scores.outcome = 'scored'
