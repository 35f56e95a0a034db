-- What extraction found in each answer to a sample, made of what it found in the stored answers.
-- One row per row of `run_answer`; the stored answers' own table becomes `answer_piece`.
-- text is NULL where no rule found anything.
-- Source: the tables `piece`, `run_answer` and `run_input`.
drop table if exists temp.answer_piece;
alter table piece rename to answer_piece;
create or replace temp view piece as
select
    run_answer.row,
    run_input.targets,
    answer_piece.text,
    answer_piece.extracted_by,
    answer_piece.note,
    answer_piece.fault
from run_answer
inner join answer_piece on run_answer.key = answer_piece.row
left join run_input on run_answer.input = run_input.number
