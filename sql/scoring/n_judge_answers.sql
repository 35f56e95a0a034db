-- How many answers a judge grades, and how many of them are not the opponent's own.
-- One row.
-- Never NULL.
-- Source: the table `judge_answer`.
select
    count(*) as n,
    count(*) filter (where not judge_answer.is_self) as n_judged
from judge_answer
