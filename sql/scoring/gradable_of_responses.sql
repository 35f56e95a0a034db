-- The stored answers that the trials of a run used, without the reasoning written into them.
-- One row per stored answer; `row` is the key in `run_answer`.
-- text is never NULL; it is empty where reasoning was never closed. Targets and choices belong to trials.
-- Source: the stored table responses and the tables `run_answer` and `run_payer`.
create or replace temp view gradable as
select
    (hash(responses.response_id) // 2)::bigint as row,
    null::varchar[] as targets,
    null::varchar[] as choices,
    final_text(coalesce(responses.text, '')) as text
from responses
where
    responses.run_id in (select run_payer.run_id from run_payer)
    and (hash(responses.response_id) // 2)::bigint in (select run_answer.key from run_answer)
