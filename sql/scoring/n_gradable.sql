-- Which answers are stored; texts are not read.
-- One row.
-- Never NULL; as in `n_run_answers`.
-- Source: the view `gradable`.
select
    count(*) as n_answers,
    coalesce(sum(gradable.row), 0) as row_sum
from gradable
