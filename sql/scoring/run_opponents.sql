-- The answer of another entrant to the same sample in the same epoch.
-- One row per answer whose opponent has that trial.
-- text is NULL where the opponent has no answer; reasoning in the text itself is left out.
-- Source: the trials of run $opponent_run_id; `opponent_entrant` says which entrant each one is compared with.
create or replace temp table opponent as
select
    trial_answer.row,
    final_text(responses.text) as text,
    other.response_id,
    $opponent_run_id = $run_id
    and trial_answer.model = other.model
    and trial_answer.prompt = other.prompt as is_self
from trial_answer
inner join opponent_entrant
    on trial_answer.model = opponent_entrant.model
    and trial_answer.prompt = opponent_entrant.prompt
inner join trials as other
    on opponent_entrant.opponent_model = other.model
    and opponent_entrant.opponent_prompt = other.prompt
    and trial_answer.sample_id = other.sample_id
    and trial_answer.sample_hash = other.sample_hash
    and trial_answer.epoch = other.epoch
left join responses
    on other.response_run_id = responses.run_id
    and other.response_id = responses.response_id
where other.run_id = $opponent_run_id
qualify row_number() over (partition by trial_answer.row order by responses.created_at asc) = 1
