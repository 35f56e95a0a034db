-- Votes that judges cast.
-- One row per answer, order shown, vote and metric.
-- score is NULL with a fault.
-- Source: lists of equal length.
insert into judge_vote
select
    unnest($rows::bigint[]) as row,
    unnest($sides::integer[]) as side,
    unnest($votes::integer[]) as vote,
    unnest($metrics::varchar[]) as metric,
    unnest($scores::double[]) as score,
    unnest($verdicts::varchar[]) as verdict,
    unnest($reasons::varchar[]) as reason,
    unnest($confidences::double[]) as confidence,
    unnest($faults::varchar[]) as fault
