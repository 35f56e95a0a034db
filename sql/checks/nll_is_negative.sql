-- Answers whose sum of -ln p is negative: log-probabilities were stored with the wrong sign.
-- One row per run and model with such answers.
-- n counts trials.
-- Source: counting only.
select
    trials.run_id,
    trials.model,
    count(*) as n
from trials
where
    trials.token_nll < 0
    or trials.token_count < 0
group by
    trials.run_id,
    trials.model
order by
    trials.run_id asc,
    trials.model asc
