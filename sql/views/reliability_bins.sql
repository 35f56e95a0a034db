-- How often answers of about the same confidence are right.
-- One row per (run_id, model, prompt, scorer, metric, binning, bin) that holds an answer.
-- binning is `width` (ten bins of 0.1, [low, high), the last closed) or `mass` (ten bins of equal size, ties together).
-- Source: confident_grades; edges as in the macro equal_width_bin (Guo et al. 2017; Nixon et al. 2019).
create or replace view reliability_bins as
with binned as (
    select
        confident_grades.run_id,
        confident_grades.task,
        confident_grades.model,
        confident_grades.prompt,
        confident_grades.scorer,
        confident_grades.metric,
        'width' as binning,
        equal_width_bin(confident_grades.confidence, 10) as bin,
        confident_grades.confidence,
        confident_grades.is_right
    from confident_grades
    union all
    select
        confident_grades.run_id,
        confident_grades.task,
        confident_grades.model,
        confident_grades.prompt,
        confident_grades.scorer,
        confident_grades.metric,
        'mass' as binning,
        10 * (
            rank() over (
                partition by
                    confident_grades.run_id,
                    confident_grades.task,
                    confident_grades.model,
                    confident_grades.prompt,
                    confident_grades.scorer,
                    confident_grades.metric
                order by confident_grades.confidence asc
            ) - 1
        ) // count(*) over (
            partition by
                confident_grades.run_id,
                confident_grades.task,
                confident_grades.model,
                confident_grades.prompt,
                confident_grades.scorer,
                confident_grades.metric
        ) as bin,
        confident_grades.confidence,
        confident_grades.is_right
    from confident_grades
)

select
    binned.run_id,
    binned.task,
    binned.model,
    binned.prompt,
    binned.scorer,
    binned.metric,
    binned.binning,
    binned.bin,
    case when binned.binning = 'width' then binned.bin / 10 else min(binned.confidence) end as bin_low,
    case when binned.binning = 'width' then (binned.bin + 1) / 10 else max(binned.confidence) end as bin_high,
    count(*) as n,
    exact_sum(binned.confidence) / count(*) as mean_confidence,
    exact_sum(binned.is_right) / count(*) as accuracy,
    exact_sum(binned.confidence) / count(*) - exact_sum(binned.is_right) / count(*) as gap
from binned
group by
    binned.run_id,
    binned.task,
    binned.model,
    binned.prompt,
    binned.scorer,
    binned.metric,
    binned.binning,
    binned.bin
order by
    binned.run_id asc,
    binned.scorer asc,
    binned.metric asc,
    binned.model asc,
    binned.prompt asc,
    binned.binning desc,
    binned.bin asc;

comment on view reliability_bins is 'How often answers of about the same confidence are right.';
comment on column reliability_bins.run_id is 'Run.';
comment on column reliability_bins.task is 'Name of the spec.';
comment on column reliability_bins.model is 'Display name of the model.';
comment on column reliability_bins.prompt is 'Name of the prompt.';
comment on column reliability_bins.scorer is 'Name of the scorer.';
comment on column reliability_bins.metric is 'Metric of the scorer.';
comment on column reliability_bins.binning is 'width: ten bins of 0.1; mass: ten bins of equal size, ties together.';
comment on column reliability_bins.bin is 'Number of the bin, from 0.';
comment on column reliability_bins.bin_low is 'Lower edge (width), or least confidence (mass).';
comment on column reliability_bins.bin_high is 'Upper edge (width), or greatest confidence (mass).';
comment on column reliability_bins.n is 'Answers in the bin.';
comment on column reliability_bins.mean_confidence is 'Mean confidence in the bin.';
comment on column reliability_bins.accuracy is 'Share of the answers that pass.';
comment on column reliability_bins.gap is 'mean_confidence minus accuracy: above 0 means overconfident.';
