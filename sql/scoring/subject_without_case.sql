-- The answers whose switch has none of the cases in the variable `grading_cases`, a list.
-- One row per answer row.
-- NULL targets mean that there is none; text is never NULL.
-- Source: the relation `answer`.
create or replace temp view subject as
select
    answer.row,
    answer.entrant,
    answer.sample_id,
    answer.epoch,
    coalesce(answer.text, '') as text,
    answer.stop_reason,
    answer.status,
    answer.error_type,
    case when len(answer.targets) > 0 then answer.targets end as targets,
    answer.choices,
    answer.pattern,
    answer.switch
from answer
where answer.switch is null or not list_contains(getvariable('grading_cases'), answer.switch)
