-- Whether numbers name answers one to one: n_rows and n_answers are then equal.
-- One row.
-- Never NULL; row_sum tells these rows from any others as many.
-- Source: the table `run_answer`.
select
    count(distinct run_answer.row) as n_rows,
    count(*) as n_answers,
    coalesce(sum(run_answer.row), 0) as row_sum
from run_answer
