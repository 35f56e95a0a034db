-- What it takes to settle two entrants of a board: samples, or epochs of the same samples, and dollars.
-- One row per (task, scorer, metric, pair), as in pairwise, if the difference seen is the true one.
-- 80 % power in a two-sided test at 5 % of this pair alone; samples_needed_holm at 5 % / pairs. US dollars beyond what is spent. NULL: see reason.
-- Source: pairwise, epoch_totals, entrant_costs, judge_costs; macro samples_needed (Guenther 1981); epochs divide the variance within samples (Miller 2024).
create or replace view power as
with spread as (
    select
        epoch_totals.run_id,
        epoch_totals.model,
        epoch_totals.prompt,
        epoch_totals.scorer,
        epoch_totals.scorer_id,
        epoch_totals.metric,
        epoch_totals.n / epoch_totals.n_samples as epochs,
        epoch_totals.within_variance
    from epoch_totals
    where epoch_totals.run_id in board_run_ids()
),

spent as (
    select
        entrant_counts.run_id,
        entrant_counts.model,
        entrant_counts.prompt,
        cast(entrant_costs.cost_usd as double) / nullif(entrant_counts.n_trials, 0) as answer_usd,
        case
            when judge_costs.n_answers is null then 0.0
            else cast(judge_costs.cost_usd as double)
        end / nullif(entrant_counts.n_trials, 0) as judge_usd
    from entrant_counts
    left join entrant_costs
        on entrant_counts.run_id = entrant_costs.run_id
        and entrant_counts.model = entrant_costs.model
        and entrant_counts.prompt = entrant_costs.prompt
        and entrant_costs.run_id in board_run_ids()
    left join judge_costs
        on entrant_counts.run_id = judge_costs.run_id
        and entrant_counts.model = judge_costs.model
        and entrant_counts.prompt = judge_costs.prompt
    where entrant_counts.run_id in board_run_ids()
),

paired as (
    select
        pairwise.*,
        pairwise.stderr * pairwise.stderr * pairwise.n_shared as variance,
        count(*) over (
            partition by pairwise.task, pairwise.scorer, pairwise.metric
        ) as n_pairs,
        greatest(a_spread.epochs, b_spread.epochs) as epochs,
        a_spread.epochs as a_epochs,
        b_spread.epochs as b_epochs,
        a_spread.within_variance / a_spread.epochs
        + b_spread.within_variance / b_spread.epochs as epoch_variance,
        (a_spent.answer_usd + a_spent.judge_usd) * a_spread.epochs
        + (b_spent.answer_usd + b_spent.judge_usd) * b_spread.epochs as usd_per_sample,
        a_spent.judge_usd * a_spread.epochs + b_spent.judge_usd * b_spread.epochs as judge_usd_per_sample,
        case
            when a_spent.answer_usd is null then concat('cost of ', pairwise.a_model, ' is not known')
            when b_spent.answer_usd is null then concat('cost of ', pairwise.b_model, ' is not known')
            when a_spent.judge_usd is null then concat('cost of judging ', pairwise.a_model, ' is not known')
            when b_spent.judge_usd is null then concat('cost of judging ', pairwise.b_model, ' is not known')
        end as usd_reason
    from pairwise
    left join spread as a_spread
        on pairwise.a_run_id = a_spread.run_id
        and pairwise.a_model = a_spread.model
        and pairwise.a_prompt = a_spread.prompt
        and pairwise.scorer = a_spread.scorer
        and pairwise.scorer_id = a_spread.scorer_id
        and pairwise.metric = a_spread.metric
    left join spread as b_spread
        on pairwise.b_run_id = b_spread.run_id
        and pairwise.b_model = b_spread.model
        and pairwise.b_prompt = b_spread.prompt
        and pairwise.scorer = b_spread.scorer
        and pairwise.scorer_id = b_spread.scorer_id
        and pairwise.metric = b_spread.metric
    left join spent as a_spent
        on pairwise.a_run_id = a_spent.run_id
        and pairwise.a_model = a_spent.model
        and pairwise.a_prompt = a_spent.prompt
    left join spent as b_spent
        on pairwise.b_run_id = b_spent.run_id
        and pairwise.b_model = b_spent.model
        and pairwise.b_prompt = b_spent.prompt
),

needed as (
    select
        paired.*,
        try_cast(samples_needed(paired.difference, paired.variance, 0.05) as bigint) as samples_needed,
        try_cast(
            samples_needed(paired.difference, paired.variance, 0.05 / paired.n_pairs) as bigint
        ) as samples_needed_holm,
        case
            when paired.difference <> 0 and paired.variance > 0 and paired.epoch_variance > 0
                then greatest(0.0, paired.n_shared - 1.9207294103470706)
                    * power(paired.difference / 2.8015852181129683, 2)
                    - greatest(0.0, paired.variance - paired.epoch_variance)
        end as variance_left
    from paired
),

planned as (
    select
        needed.*,
        case
            when needed.samples_needed <= needed.n_shared then needed.epochs
            when needed.variance_left > 0
                then try_cast(
                    ceil(needed.epochs * needed.epoch_variance / needed.variance_left) as bigint
                )
        end as epochs_needed
    from needed
)

select
    planned.task,
    planned.scorer,
    planned.metric,
    planned.a_model,
    planned.a_prompt,
    planned.b_model,
    planned.b_prompt,
    planned.verdict,
    planned.n_shared,
    planned.difference,
    planned.stderr,
    sqrt(planned.variance) as deviation,
    planned.samples_needed,
    planned.samples_needed_holm,
    planned.epochs,
    planned.epochs_needed,
    planned.usd_per_sample,
    planned.judge_usd_per_sample,
    case
        when planned.samples_needed is not null
            then greatest(0, planned.samples_needed - planned.n_shared) * planned.usd_per_sample
    end as samples_usd,
    case
        when planned.epochs_needed is not null
            then greatest(0, planned.epochs_needed / planned.epochs - 1)
                * planned.n_shared * planned.usd_per_sample
    end as epochs_usd,
    case
        when planned.n_shared = 0 then 'no sample in common'
        when planned.stderr is null then 'one shared sample or cluster'
        when planned.stderr = 0 and planned.difference = 0 then 'no shared sample differs'
        when planned.stderr = 0 then 'every shared sample differs by the same'
        when planned.difference = 0 then 'the difference seen is 0'
    end as reason,
    case
        when planned.samples_needed is null or planned.epochs_needed is not null then null
        when planned.epoch_variance is null then 'one epoch: spread within samples is not known'
        when planned.epoch_variance = 0 then 'epochs never differ'
        else 'samples differ too much: epochs alone cannot'
    end as epochs_reason,
    planned.usd_reason,
    planned.a_run_id,
    planned.b_run_id
from planned
order by
    planned.task asc,
    planned.scorer asc,
    planned.metric asc,
    planned.a_model asc,
    planned.a_prompt asc,
    planned.b_model asc,
    planned.b_prompt asc;

comment on view power is 'What it takes to settle two entrants of a board: samples, or epochs of the same samples, and dollars.';
comment on column power.task is 'Name of the spec.';
comment on column power.scorer is 'Name of the scorer.';
comment on column power.metric is 'Metric of the scorer.';
comment on column power.a_model is 'Model that stands above.';
comment on column power.a_prompt is 'Its prompt.';
comment on column power.b_model is 'Model that stands below.';
comment on column power.b_prompt is 'Its prompt.';
comment on column power.verdict is 'What the samples that there are say: better, worse, tied, inconclusive, not comparable.';
comment on column power.n_shared is 'Samples that both have a score of.';
comment on column power.difference is 'Difference seen, a minus b.';
comment on column power.stderr is 'Its standard error.';
comment on column power.deviation is 'Standard deviation of the difference on one sample, clusters counted in.';
comment on column power.samples_needed is 'Shared samples that would find this difference with 80 % power.';
comment on column power.samples_needed_holm is 'The same where all pairs of the board are tested: at 5 % divided by their number.';
comment on column power.epochs is 'Epochs of the side that has more.';
comment on column power.epochs_needed is 'Epochs of both that would do on the same samples; NULL: see epochs_reason.';
comment on column power.usd_per_sample is 'List price of one more sample in US dollars: answers of both sides in all their epochs, and the judges of all the task''s scorers.';
comment on column power.judge_usd_per_sample is 'Part of it for judges; 0 without a judge.';
comment on column power.samples_usd is 'Price of the samples that are missing; 0 if there are enough.';
comment on column power.epochs_usd is 'Price of the epochs that are missing; 0 if there are enough.';
comment on column power.reason is 'Why samples_needed is NULL; NULL if it is not.';
comment on column power.epochs_reason is 'Why epochs alone cannot settle it, or are not known to; NULL if they can.';
comment on column power.usd_reason is 'Whose cost, or whose judge''s, is not known; NULL if all are.';
comment on column power.a_run_id is 'Run that shows a.';
comment on column power.b_run_id is 'Run that shows b.';
