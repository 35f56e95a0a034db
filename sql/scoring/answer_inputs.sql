-- What a scorer sees: the relation `answer`, made of the trials and of what was rendered for their samples.
-- One row per trial.
-- NULL targets mean that the sample has no target; NULL choices that the spec has none.
-- Source: the relations `trial_answer` and `grading_input`.
create or replace temp view answer as
select
    trial_answer.row,
    trial_answer.run_id,
    trial_answer.task,
    trial_answer.model,
    trial_answer.model_id,
    trial_answer.prompt,
    trial_answer.entrant,
    trial_answer.sample_id,
    trial_answer.epoch,
    trial_answer.response_id,
    trial_answer.text,
    trial_answer.stop_reason,
    trial_answer.status,
    trial_answer.error_type,
    trial_answer.confidence,
    trial_answer.token_nll,
    trial_answer.token_count,
    trial_answer.tool_calls,
    grading_input.targets,
    case
        when len(grading_input.targets) = 1 then grading_input.targets[1]
        else to_json(grading_input.targets)::varchar
    end as target,
    grading_input.choices,
    grading_input.pattern,
    grading_input.switch,
    grading_input.program,
    grading_input.checks,
    grading_input.stdin,
    grading_input.stdout,
    grading_input.label
from trial_answer
left join grading_input
    on trial_answer.sample_id = grading_input.sample_id
    and trial_answer.choice_order is not distinct from grading_input.choice_order
