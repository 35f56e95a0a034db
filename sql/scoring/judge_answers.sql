-- The answers that a judge is asked about, each with what the judge may see of it.
-- One row per answered trial (of $case, if not NULL) whose answer is not blank, numbered from 1; without a target only
-- if none is needed.
-- messages and reasoning are NULL unless $reads_answer; opponent is NULL where there is none, with the reason in note.
-- Source: the relations `answer`, `trial_answer` and `opponent`; reasoning in the text itself is not in response.
create or replace temp table judge_answer as
select
    row_number() over (order by answer.row asc) as n,
    answer.row,
    answer.sample_id,
    trial_answer.choice_order,
    trial_answer.sample_hash,
    final_text(answer.text) as response,
    case
        when responses.reasoning is not null then responses.reasoning
        when final_text(answer.text) <> answer.text then answer.text
        else ''
    end as reasoning,
    responses.messages,
    answer.targets,
    opponent.text as opponent,
    opponent.response_id as opponent_response_id,
    case
        when not $needs_opponent then null
        when opponent.is_self then 'is the opponent itself'
        when opponent.text is null or is_blank(opponent.text) then 'no answer of the opponent'
    end as note,
    coalesce(opponent.is_self, false) as is_self
from answer
inner join trial_answer
    on answer.row = trial_answer.row
left join opponent
    on answer.row = opponent.row
left join responses
    on $reads_answer
    and trial_answer.response_run_id = responses.run_id
    and trial_answer.response_id = responses.response_id
where
    answer.status = 'answered'
    and ($case::varchar is null or answer.switch = $case)
    and not is_blank(final_text(answer.text))
    and (len(answer.targets) > 0 or not $needs_target)
qualify row_number() over (partition by answer.row order by responses.created_at asc) = 1
