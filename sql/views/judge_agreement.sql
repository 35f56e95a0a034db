-- How far two scorers of a run agree: a judge with another, or with human labels.
-- One row per (run_id, a_scorer, b_scorer, metric) over all entrants of the run; `label` scorers stand on side b.
-- Shares in [0, 1]; kappas at most 1. Verdicts are stored passes; scores are rescaled from 0 (worst) to 1 (best). NULL: see reason.
-- Source: Cohen (1960); weighted kappa with quadratic weights, Cohen (1968), equal to plain kappa for two values.
create or replace view judge_agreement as
with graded_pair as (
    select
        a.run_id,
        a.task,
        a.scorer as a_scorer,
        b.scorer as b_scorer,
        a.metric,
        b.type = 'label' as is_against_labels,
        a.raw_is_pass as a_is_pass,
        b.raw_is_pass as b_is_pass,
        a.raw_score is not null as a_is_graded,
        b.raw_score is not null as b_is_graded,
        round(coalesce(a.share, a.raw_score), 12) as a_share,
        round(coalesce(b.share, b.raw_score), 12) as b_share
    from counted_grades as a
    inner join counted_grades as b
        on a.run_id = b.run_id
        and a.task = b.task
        and a.model = b.model
        and a.prompt = b.prompt
        and a.sample_id = b.sample_id
        and a.epoch = b.epoch
        and a.metric = b.metric
        and (a.type = 'label', a.scorer) < (b.type = 'label', b.scorer)
),

cell as (
    select
        graded_pair.run_id,
        graded_pair.task,
        graded_pair.a_scorer,
        graded_pair.b_scorer,
        graded_pair.metric,
        graded_pair.a_share,
        graded_pair.b_share,
        count(*) as n
    from graded_pair
    where
        graded_pair.a_is_graded
        and graded_pair.b_is_graded
    group by
        graded_pair.run_id,
        graded_pair.task,
        graded_pair.a_scorer,
        graded_pair.b_scorer,
        graded_pair.metric,
        graded_pair.a_share,
        graded_pair.b_share
),

a_margin as (
    select
        cell.run_id,
        cell.task,
        cell.a_scorer,
        cell.b_scorer,
        cell.metric,
        cell.a_share as share,
        sum(cell.n) as n
    from cell
    group by
        cell.run_id,
        cell.task,
        cell.a_scorer,
        cell.b_scorer,
        cell.metric,
        cell.a_share
),

b_margin as (
    select
        cell.run_id,
        cell.task,
        cell.a_scorer,
        cell.b_scorer,
        cell.metric,
        cell.b_share as share,
        sum(cell.n) as n
    from cell
    group by
        cell.run_id,
        cell.task,
        cell.a_scorer,
        cell.b_scorer,
        cell.metric,
        cell.b_share
),

chance as (
    select
        a_margin.run_id,
        a_margin.task,
        a_margin.a_scorer,
        a_margin.b_scorer,
        a_margin.metric,
        cast(sum(a_margin.n * b_margin.n) as bigint) as n_products
    from a_margin
    inner join b_margin
        on a_margin.run_id = b_margin.run_id
        and a_margin.task = b_margin.task
        and a_margin.a_scorer = b_margin.a_scorer
        and a_margin.b_scorer = b_margin.b_scorer
        and a_margin.metric = b_margin.metric
        and a_margin.share = b_margin.share
    group by
        a_margin.run_id,
        a_margin.task,
        a_margin.a_scorer,
        a_margin.b_scorer,
        a_margin.metric
),

total as (
    select
        graded_pair.run_id,
        graded_pair.task,
        graded_pair.a_scorer,
        graded_pair.b_scorer,
        graded_pair.metric,
        bool_or(graded_pair.is_against_labels) as is_against_labels,
        count(*) filter (where graded_pair.a_is_graded and graded_pair.b_is_graded) as n,
        count(*) filter (where graded_pair.a_is_graded and not graded_pair.b_is_graded) as n_only_a,
        count(*) filter (where graded_pair.b_is_graded and not graded_pair.a_is_graded) as n_only_b,
        count(*) filter (
            where graded_pair.a_is_pass is not null and graded_pair.b_is_pass is not null
        ) as n_verdicts,
        count(*) filter (where graded_pair.a_is_pass and graded_pair.b_is_pass) as n_both_pass,
        count(*) filter (where graded_pair.a_is_pass and not graded_pair.b_is_pass) as n_a_passes,
        count(*) filter (where graded_pair.b_is_pass and not graded_pair.a_is_pass) as n_b_passes,
        count(*) filter (where not graded_pair.a_is_pass and not graded_pair.b_is_pass) as n_neither_passes,
        count(*) filter (where graded_pair.a_share = graded_pair.b_share) as n_equal
    from graded_pair
    group by
        graded_pair.run_id,
        graded_pair.task,
        graded_pair.a_scorer,
        graded_pair.b_scorer,
        graded_pair.metric
),

-- from the least score on, so that squares keep what scores far from 0 differ by
shifted as (
    select
        cell.run_id,
        cell.task,
        cell.a_scorer,
        cell.b_scorer,
        cell.metric,
        cell.n,
        cell.a_share - min(least(cell.a_share, cell.b_share)) over (
            partition by cell.task, cell.run_id, cell.a_scorer, cell.b_scorer, cell.metric
        ) as a_share,
        cell.b_share - min(least(cell.a_share, cell.b_share)) over (
            partition by cell.task, cell.run_id, cell.a_scorer, cell.b_scorer, cell.metric
        ) as b_share
    from cell
),

moment as (
    select
        shifted.run_id,
        shifted.task,
        shifted.a_scorer,
        shifted.b_scorer,
        shifted.metric,
        sum(shifted.n) as n,
        exact_sum(
            shifted.n * (shifted.a_share - shifted.b_share) * (shifted.a_share - shifted.b_share)
        ) as gap_squares,
        exact_sum(shifted.n * shifted.a_share) as a_sum,
        exact_sum(shifted.n * shifted.b_share) as b_sum,
        exact_sum(shifted.n * shifted.a_share * shifted.a_share) as a_squares,
        exact_sum(shifted.n * shifted.b_share * shifted.b_share) as b_squares,
        max(greatest(shifted.a_share, shifted.b_share)) = 0 as is_constant
    from shifted
    group by
        shifted.run_id,
        shifted.task,
        shifted.a_scorer,
        shifted.b_scorer,
        shifted.metric
),

expected as (
    select
        moment.run_id,
        moment.task,
        moment.a_scorer,
        moment.b_scorer,
        moment.metric,
        moment.is_constant,
        moment.gap_squares,
        nullif(
            not_negative(
                moment.a_squares + moment.b_squares - 2 * moment.a_sum * moment.b_sum / moment.n
            ),
            0
        ) as chance_squares
    from moment
),

weighted as (
    select
        expected.run_id,
        expected.task,
        expected.a_scorer,
        expected.b_scorer,
        expected.metric,
        expected.is_constant,
        -- agreement of chance is 0 exactly, whatever rounding made of its squares
        case
            when round(expected.gap_squares / expected.chance_squares, 13) = 1 then 0.0
            else 1 - expected.gap_squares / expected.chance_squares
        end as kappa
    from expected
)

select
    total.run_id,
    total.task,
    total.a_scorer,
    total.b_scorer,
    total.metric,
    total.is_against_labels,
    total.n,
    total.n_only_a,
    total.n_only_b,
    (total.n_both_pass + total.n_neither_passes) / nullif(total.n_verdicts, 0) as agreement,
    cohen_kappa(
        (total.n_both_pass + total.n_neither_passes) / nullif(total.n_verdicts, 0),
        (
            (total.n_both_pass + total.n_a_passes) * (total.n_both_pass + total.n_b_passes)
            + (total.n_neither_passes + total.n_a_passes) * (total.n_neither_passes + total.n_b_passes)
        ) / nullif(total.n_verdicts * total.n_verdicts, 0)
    ) as kappa,
    total.n_both_pass,
    total.n_a_passes,
    total.n_b_passes,
    total.n_neither_passes,
    total.n_equal / nullif(total.n, 0) as score_agreement,
    cohen_kappa(
        total.n_equal / nullif(total.n, 0),
        coalesce(chance.n_products, 0) / nullif(total.n * total.n, 0)
    ) as score_kappa,
    case when not weighted.is_constant then weighted.kappa end as score_kappa_weighted,
    case
        when total.n = 0 then 'no trial that both graded'
        when weighted.is_constant then 'one and the same score everywhere'
        when total.n_verdicts = 0 then 'no pass threshold'
        when total.n_verdicts in (total.n_both_pass, total.n_neither_passes)
            then 'one and the same verdict everywhere'
        when weighted.kappa is null then 'scores are too large, or too close, for squares'
    end as reason
from total
left join chance
    on total.run_id = chance.run_id
    and total.task = chance.task
    and total.a_scorer = chance.a_scorer
    and total.b_scorer = chance.b_scorer
    and total.metric = chance.metric
left join weighted
    on total.run_id = weighted.run_id
    and total.task = weighted.task
    and total.a_scorer = weighted.a_scorer
    and total.b_scorer = weighted.b_scorer
    and total.metric = weighted.metric
order by
    total.run_id asc,
    total.a_scorer asc,
    total.b_scorer asc,
    total.metric asc;

comment on view judge_agreement is 'How far two scorers of a run agree: a judge with another, or with human labels.';
comment on column judge_agreement.run_id is 'Run.';
comment on column judge_agreement.task is 'Name of the spec.';
comment on column judge_agreement.a_scorer is 'Name of one scorer.';
comment on column judge_agreement.b_scorer is 'Name of the other; the human labels, if one of the two holds any.';
comment on column judge_agreement.metric is 'Metric that both give.';
comment on column judge_agreement.is_against_labels is 'Whether b holds human labels.';
comment on column judge_agreement.n is 'Trials that both graded.';
comment on column judge_agreement.n_only_a is 'Trials that only a graded.';
comment on column judge_agreement.n_only_b is 'Trials that only b graded.';
comment on column judge_agreement.agreement is 'Share of them on which the verdicts, pass or not, are the same.';
comment on column judge_agreement.kappa is 'Cohen''s kappa of the verdicts.';
comment on column judge_agreement.n_both_pass is 'Trials that both pass.';
comment on column judge_agreement.n_a_passes is 'Trials that only a passes.';
comment on column judge_agreement.n_b_passes is 'Trials that only b passes.';
comment on column judge_agreement.n_neither_passes is 'Trials that neither passes.';
comment on column judge_agreement.score_agreement is 'Share of the trials that get the same score of both.';
comment on column judge_agreement.score_kappa is 'Cohen''s kappa with each different score as a category.';
comment on column judge_agreement.score_kappa_weighted is 'Kappa with quadratic weights: for ordinal scores and for continuous ones.';
comment on column judge_agreement.reason is 'Why a number is NULL; NULL if none is.';
