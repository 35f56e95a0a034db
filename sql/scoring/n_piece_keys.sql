-- Whether numbers name answers one to one: n_rows equals n_pairs, and the next three are equal.
-- One row.
-- Never NULL; n_bytes are those that the pieces take beside their rows, in which short texts stand.
-- Source: the tables `run_answer` and `piece`, which has one row per stored answer.
with used as (
    select
        count(distinct run_answer.row) as n_rows,
        count(*) as n_pairs,
        count(distinct run_answer.key) as n_used
    from run_answer
),

found as (
    select
        count(*) as n_pieces,
        count(distinct piece.row) as n_keys,
        coalesce(sum(strlen(piece.text)) filter (where strlen(piece.text) > 12), 0)::bigint as n_bytes
    from piece
)

select
    used.n_rows,
    used.n_pairs,
    used.n_used,
    found.n_pieces,
    found.n_keys,
    found.n_bytes
from used
cross join found
