-- Which answers extraction looked at.
-- One row.
-- Never NULL; as in `n_run_answers`.
-- Source: the table `piece`.
select
    count(*) as n_answers,
    coalesce(sum(piece.row), 0) as row_sum
from piece
