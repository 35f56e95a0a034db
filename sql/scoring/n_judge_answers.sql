-- How many answers a judge is asked about.
-- One row.
-- Never NULL.
-- Source: the table `judge_answer`.
select count(*) as n
from judge_answer
