-- Spread of an entrant's scores in a run by one definition, between samples and between the epochs of a sample.
-- One row per (run_id, model, prompt, scorer, scorer_id, metric) with a score that counts.
-- Variances in the square of the scorer's unit; within NULL where no sample has two scores, between where either is unknown.
-- Source: one-way random-effects analysis of variance, unbalanced, negative components cut at 0 (Searle et al. 1992, 3.6).
create or replace view epoch_totals as
with sample as (
    select
        scores.run_id,
        scores.task,
        definitions.scorer,
        scores.scorer_id,
        scores.metric,
        scores.model,
        scores.prompt,
        scores.sample_id,
        count(*) as n,
        min(counted_score(scores.score, scores.outcome, definitions.unanswered_score)) as low,
        max(counted_score(scores.score, scores.outcome, definitions.unanswered_score)) as high,
        exact_sum(counted_score(scores.score, scores.outcome, definitions.unanswered_score)) as score_sum,
        exact_sum(
            counted_score(scores.score, scores.outcome, definitions.unanswered_score)
            * counted_score(scores.score, scores.outcome, definitions.unanswered_score)
        ) as score_squares
    from scores
    inner join definitions
        on scores.task = definitions.task
        and scores.scorer_id = definitions.scorer_id
    where counted_score(scores.score, scores.outcome, definitions.unanswered_score) is not null
    group by
        scores.run_id,
        scores.task,
        definitions.scorer,
        scores.scorer_id,
        scores.metric,
        scores.model,
        scores.prompt,
        scores.sample_id
),

total as (
    select
        sample.run_id,
        sample.task,
        sample.scorer,
        sample.scorer_id,
        sample.metric,
        sample.model,
        sample.prompt,
        count(*) as n_samples,
        cast(sum(sample.n) as bigint) as n,
        cast(sum(sample.n * sample.n) as bigint) as size_squares,
        min(sample.low) = max(sample.high) as is_constant,
        count(*) filter (where sample.low <> sample.high) as n_flaky,
        exact_sum(sample.score_sum) as score_sum,
        exact_sum(sample.score_sum * sample.score_sum / sample.n) as sample_squares,
        exact_sum(
            case
                when sample.low = sample.high then 0.0
                else not_negative(sample.score_squares - sample.score_sum * sample.score_sum / sample.n)
            end
        ) as within_squares
    from sample
    group by
        sample.run_id,
        sample.task,
        sample.scorer,
        sample.scorer_id,
        sample.metric,
        sample.model,
        sample.prompt
),

measured as (
    select
        total.*,
        (total.n - total.size_squares / total.n) / nullif(total.n_samples - 1, 0) as epochs,
        total.within_squares / nullif(total.n - total.n_samples, 0) as within_variance,
        case
            when total.is_constant then 0.0
            else not_negative(total.sample_squares - total.score_sum * total.score_sum / total.n)
        end / nullif(total.n_samples - 1, 0) as between_square
    from total
)

select
    measured.run_id,
    measured.task,
    measured.model,
    measured.prompt,
    measured.scorer,
    measured.scorer_id,
    definitions.scorer_version,
    definitions.recency,
    measured.metric,
    measured.n_samples,
    measured.n,
    measured.n_flaky,
    measured.is_constant,
    measured.score_sum / measured.n as mean,
    coalesce(measured.epochs, measured.n) as epochs,
    measured.within_variance,
    case
        when measured.between_square - measured.within_variance > 1e-14 * measured.between_square
            then (measured.between_square - measured.within_variance) / measured.epochs
        when measured.between_square is not null and measured.within_variance is not null then 0.0
    end as between_variance
from measured
inner join definitions
    on measured.task = definitions.task
    and measured.scorer = definitions.scorer
    and measured.scorer_id = definitions.scorer_id;
