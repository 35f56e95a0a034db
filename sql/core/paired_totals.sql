-- Two sides compared on the samples that both have: mean difference, its standard error, and an exact test.
-- One row per (board, entry, pair), keys of any type: `differences` has these and (cluster, a_score, b_score, gain) of each shared sample.
-- gain is the difference turned so that more is better; n_better and n_worse count samples, or clusters where there are any.
-- Source: paired clustered standard error (Miller 2024); exact McNemar or sign test; NULL for fewer than two samples or clusters.
create or replace macro paired_totals(differences) as table
with difference as (
    select
        given.board,
        given.entry,
        given.pair,
        given.cluster,
        given.a_score,
        given.b_score,
        given.gain
    from query_table(differences) as given
),

unit as (
    select
        difference.board,
        difference.entry,
        difference.pair,
        difference.gain,
        difference.a_score,
        difference.b_score,
        1 as size,
        difference.a_score in (0, 1) and difference.b_score in (0, 1) as is_binary,
        false as is_cluster
    from difference
    where difference.cluster is null
    union all
    select
        difference.board,
        difference.entry,
        difference.pair,
        exact_sum(difference.gain) as gain,
        exact_sum(difference.a_score) as a_score,
        exact_sum(difference.b_score) as b_score,
        count(*) as size,
        false as is_binary,
        true as is_cluster
    from difference
    where difference.cluster is not null
    group by
        difference.board,
        difference.entry,
        difference.pair,
        difference.cluster
),

total as (
    select
        unit.board,
        unit.entry,
        unit.pair,
        count(*) as n_units,
        cast(sum(unit.size) as bigint) as n_shared,
        exact_sum(unit.gain) as gain_sum,
        exact_sum(unit.gain * unit.gain) as gain_squares,
        exact_sum(unit.gain * unit.size) as gain_sizes,
        cast(sum(unit.size * unit.size) as bigint) as size_squares,
        exact_sum(unit.a_score) as a_sum,
        exact_sum(unit.b_score) as b_sum,
        min(unit.gain) = max(unit.gain) and bool_and(not unit.is_cluster) as is_constant,
        count(*) filter (where round(unit.gain / unit.size, 11) > 0) as n_better,
        count(*) filter (where round(unit.gain / unit.size, 11) < 0) as n_worse,
        bool_and(unit.is_binary) as is_binary,
        bool_or(unit.is_cluster) as is_clustered
    from unit
    group by
        unit.board,
        unit.entry,
        unit.pair
)

select
    total.board,
    total.entry,
    total.pair,
    total.n_units,
    total.n_shared,
    total.a_sum / total.n_shared as a_mean,
    total.b_sum / total.n_shared as b_mean,
    total.gain_sum / total.n_shared as gain,
    case
        when total.n_units < 2 then null
        when total.is_constant then 0.0
        else clustered_stderr(
            total.n_units,
            total.n_shared,
            total.gain_sum,
            total.gain_squares,
            total.gain_sizes,
            total.size_squares
        )
    end as stderr,
    total.n_better,
    total.n_worse,
    case
        when total.is_clustered then 'sign over clusters'
        when total.is_binary then 'mcnemar'
        else 'sign'
    end as test,
    sign_test(total.n_better, total.n_worse) as p
from total;
