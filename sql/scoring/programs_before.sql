-- Answers whose program was run before, by the same definition, for the same sample and the same answer.
-- One row per such answer of the relation `trial_answer`.
-- score is NULL where no code was found.
-- Source: stored grades of any run by the scorer $scorer_id, and the trials that they are of.
create or replace temp table program_before as
with known as (
    select
        scores.response_id,
        trials.sample_hash,
        scores.score,
        scores.extracted,
        scores.extracted_by,
        scores.detail
    from scores
    inner join trials
        on scores.run_id = trials.run_id
        and scores.model = trials.model
        and scores.prompt = trials.prompt
        and scores.sample_id = trials.sample_id
        and scores.epoch = trials.epoch
        and scores.response_id = trials.response_id
    where
        scores.scorer_id = $scorer_id
        and scores.metric = 'score'
        and scores.outcome in ('scored', 'unparsed')
    qualify row_number() over (
        partition by scores.response_id, trials.sample_hash
        order by scores.run_id asc, scores.model asc, scores.prompt asc, scores.epoch asc
    ) = 1
)

select
    trial_answer.row,
    known.score,
    known.extracted,
    known.extracted_by,
    known.detail
from trial_answer
inner join known
    on trial_answer.response_id = known.response_id
    and trial_answer.sample_hash = known.sample_hash
