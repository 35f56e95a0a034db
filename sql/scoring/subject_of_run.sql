-- The answers of a run, as a scorer sees them that reads only what was extracted.
-- One row per row of `run_answer`.
-- NULL targets mean that there is none; text is NULL, since it is in `gradable`.
-- Source: the tables `run_answer` and `run_input`.
create or replace temp view subject as
select
    run_answer.row,
    'answered' as status,
    null::varchar as text,
    run_input.targets,
    run_input.choices,
    run_input.pattern
from run_answer
left join run_input on run_answer.input = run_input.number
