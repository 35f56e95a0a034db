-- What several answers to one sample are worth: any right, all right, the majority right.
-- One row per (run_id, model, prompt, scorer, metric, k) for k up to the most answers that a sample has.
-- Rates in [0, 1], means over the samples with at least k answers that count; a sample with fewer says nothing about k.
-- Source: the macros pass_at_k and pass_hat_k; majority over what was extracted, ties shared (Wang et al. 2023).
create or replace view pass_at_k as
with counted as (
    select
        scores.run_id,
        scores.task,
        scores.model,
        scores.prompt,
        run_definitions.scorer,
        scores.metric,
        scores.sample_id,
        case
            when scores.score is not null then coalesce(scores.extracted, cast(scores.is_pass as varchar))
        end as vote,
        counted_pass(
            scores.score,
            scores.is_pass,
            scores.outcome,
            run_definitions.unanswered_score,
            run_definitions.pass_threshold
        ) as is_pass
    from scores
    inner join run_definitions
        on scores.run_id = run_definitions.run_id
        and scores.task = run_definitions.task
        and scores.scorer_id = run_definitions.scorer_id
),

vote as (
    select
        counted.run_id,
        counted.task,
        counted.model,
        counted.prompt,
        counted.scorer,
        counted.metric,
        counted.sample_id,
        counted.vote,
        count(*) as n,
        count(*) filter (where counted.is_pass) as n_pass
    from counted
    where counted.is_pass is not null
    group by
        counted.run_id,
        counted.task,
        counted.model,
        counted.prompt,
        counted.scorer,
        counted.metric,
        counted.sample_id,
        counted.vote
),

ahead as (
    select
        vote.*,
        vote.vote is not null
        and vote.n = max(case when vote.vote is not null then vote.n end) over (
            partition by
                vote.task, vote.run_id, vote.model, vote.prompt, vote.scorer, vote.metric, vote.sample_id
        ) as is_leading
    from vote
),

sample as (
    select
        ahead.run_id,
        ahead.task,
        ahead.model,
        ahead.prompt,
        ahead.scorer,
        ahead.metric,
        ahead.sample_id,
        cast(sum(ahead.n) as bigint) as n,
        cast(sum(ahead.n_pass) as bigint) as n_pass,
        coalesce(
            exact_sum(case when ahead.is_leading then ahead.n_pass / ahead.n end)
            / nullif(count(*) filter (where ahead.is_leading), 0),
            0
        ) as majority
    from ahead
    group by
        ahead.run_id,
        ahead.task,
        ahead.model,
        ahead.prompt,
        ahead.scorer,
        ahead.metric,
        ahead.sample_id
),

most as (
    select
        sample.run_id,
        sample.task,
        sample.model,
        sample.prompt,
        sample.scorer,
        sample.metric,
        max(sample.n) as n_most
    from sample
    group by
        sample.run_id,
        sample.task,
        sample.model,
        sample.prompt,
        sample.scorer,
        sample.metric
),

asked as (
    select
        most.run_id,
        most.task,
        most.model,
        most.prompt,
        most.scorer,
        most.metric,
        unnest(
            list_sort(
                list_distinct(
                    list_filter(
                        [1, 2, 3, 4, 5, 8, 10, 16, 20, 32, 50, 64, 100, most.n_most],
                        lambda k: k <= most.n_most
                    )
                )
            )
        ) as k
    from most
)

select
    sample.run_id,
    sample.task,
    sample.model,
    sample.prompt,
    sample.scorer,
    sample.metric,
    asked.k,
    count(*) filter (where sample.n >= asked.k) as n_samples,
    count(*) filter (where sample.n < asked.k) as n_samples_short,
    exact_sum(pass_at_k(sample.n, sample.n_pass, asked.k))
    / nullif(count(*) filter (where sample.n >= asked.k), 0) as pass_at_k,
    exact_sum(pass_hat_k(sample.n, sample.n_pass, asked.k))
    / nullif(count(*) filter (where sample.n >= asked.k), 0) as pass_hat_k,
    exact_sum(sample.majority) / count(*) as majority_vote
from sample
inner join asked
    on sample.run_id = asked.run_id
    and sample.task = asked.task
    and sample.model = asked.model
    and sample.prompt = asked.prompt
    and sample.scorer = asked.scorer
    and sample.metric = asked.metric
group by
    sample.run_id,
    sample.task,
    sample.model,
    sample.prompt,
    sample.scorer,
    sample.metric,
    asked.k
order by
    sample.run_id asc,
    sample.scorer asc,
    sample.metric asc,
    sample.model asc,
    sample.prompt asc,
    asked.k asc;

comment on view pass_at_k is 'What several answers to one sample are worth: any right, all right, the majority right.';
comment on column pass_at_k.run_id is 'Run.';
comment on column pass_at_k.task is 'Name of the spec.';
comment on column pass_at_k.model is 'Display name of the model.';
comment on column pass_at_k.prompt is 'Name of the prompt.';
comment on column pass_at_k.scorer is 'Name of the scorer.';
comment on column pass_at_k.metric is 'Metric of the scorer.';
comment on column pass_at_k.k is 'Answers drawn from those that a sample has.';
comment on column pass_at_k.n_samples is 'Samples with at least k answers that count.';
comment on column pass_at_k.n_samples_short is 'Samples with fewer, left out.';
comment on column pass_at_k.pass_at_k is 'Chance that at least one of k answers is right, unbiased.';
comment on column pass_at_k.pass_hat_k is 'Chance that all of k answers are right, unbiased.';
comment on column pass_at_k.majority_vote is 'Share of samples whose most frequent answer is right, over all their answers; the same for every k.';
