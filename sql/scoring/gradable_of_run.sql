-- The stored answers that the trials of a run used, each beside what it is compared with.
-- One row per row of `run_answer`, if its numbers are one to one and each answer is stored once.
-- text is never NULL, and without the reasoning written into it.
-- Source: the stored table responses and the tables `run_answer`, `run_input` and `run_payer`.
create or replace temp view gradable as
select
    run_answer.row,
    run_input.targets,
    run_input.choices,
    final_text(coalesce(responses.text, '')) as text
from responses
inner join run_answer on (hash(responses.response_id) // 2)::bigint = run_answer.key
left join run_input on run_answer.input = run_input.number
where responses.run_id in (select run_payer.run_id from run_payer)
