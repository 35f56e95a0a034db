-- Answers that a judge is asked about: one batch.
-- One row per row of `judge_answer` after $after, at most $size.
-- NULL as in `judge_answer`; those with a note are left out, for nothing is asked about them.
-- Source: the table `judge_answer`.
select
    judge_answer.row,
    judge_answer.sample_id,
    judge_answer.choice_order,
    judge_answer.sample_hash,
    judge_answer.response,
    judge_answer.reasoning,
    judge_answer.messages,
    judge_answer.targets,
    judge_answer.opponent,
    judge_answer.opponent_response_id
from judge_answer
where
    judge_answer.n > $after
    and judge_answer.n <= $after + $size
    and judge_answer.note is null
order by judge_answer.n asc
