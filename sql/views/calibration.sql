-- Whether confidence can be trusted: how far it is from accuracy, and whether it tells right from wrong.
-- One row per (run_id, model, prompt, scorer, metric) with a confidence.
-- ECE, Brier score and AUROC in [0, 1]; NULL where undefined (AUROC: all right or all wrong). Ten bins.
-- Source: reliability_bins (Guo et al. 2017); Murphy (1973) for the parts of Brier's score; AUROC by mid-ranks (Mann and Whitney 1947).
create or replace view calibration as
with ranked as (
    select
        confident_grades.*,
        rank() over (
            partition by
                confident_grades.run_id,
                confident_grades.task,
                confident_grades.model,
                confident_grades.prompt,
                confident_grades.scorer,
                confident_grades.metric
            order by confident_grades.confidence asc
        ) + (
            count(*) over (
                partition by
                    confident_grades.run_id,
                    confident_grades.task,
                    confident_grades.model,
                    confident_grades.prompt,
                    confident_grades.scorer,
                    confident_grades.metric,
                    confident_grades.confidence
            ) - 1
        ) / 2 as mid_rank
    from confident_grades
),

whole as (
    select
        ranked.run_id,
        ranked.task,
        ranked.model,
        ranked.prompt,
        ranked.scorer,
        ranked.scorer_version,
        ranked.metric,
        list_sort(list(distinct ranked.confidence_source)) as confidence_sources,
        count(*) as n,
        count(*) filter (where ranked.is_right = 1) as n_right,
        exact_sum(ranked.confidence) / count(*) as mean_confidence,
        exact_sum(ranked.is_right) / count(*) as accuracy,
        exact_sum(
            (ranked.confidence - ranked.is_right) * (ranked.confidence - ranked.is_right)
        ) / count(*) as brier,
        exact_sum(ranked.mid_rank * ranked.is_right) as right_rank_sum
    from ranked
    group by
        ranked.run_id,
        ranked.task,
        ranked.model,
        ranked.prompt,
        ranked.scorer,
        ranked.scorer_version,
        ranked.metric
),

binned as (
    select
        reliability_bins.run_id,
        reliability_bins.task,
        reliability_bins.model,
        reliability_bins.prompt,
        reliability_bins.scorer,
        reliability_bins.metric,
        exact_sum(
            case
                when reliability_bins.binning = 'width'
                    then reliability_bins.n * abs(reliability_bins.gap)
            end
        ) as width_gap,
        exact_sum(
            case
                when reliability_bins.binning = 'mass'
                    then reliability_bins.n * abs(reliability_bins.gap)
            end
        ) as mass_gap,
        count(*) filter (where reliability_bins.binning = 'width') as n_bins,
        exact_sum(
            case
                when reliability_bins.binning = 'width'
                    then reliability_bins.n * reliability_bins.gap * reliability_bins.gap
            end
        ) as gap_squares,
        exact_sum(
            case
                when reliability_bins.binning = 'width'
                    then reliability_bins.n * reliability_bins.accuracy * reliability_bins.accuracy
            end
        ) as accuracy_squares
    from reliability_bins
    group by
        reliability_bins.run_id,
        reliability_bins.task,
        reliability_bins.model,
        reliability_bins.prompt,
        reliability_bins.scorer,
        reliability_bins.metric
)

select
    whole.run_id,
    whole.task,
    whole.model,
    whole.prompt,
    whole.scorer,
    whole.scorer_version,
    whole.metric,
    whole.confidence_sources,
    whole.n,
    binned.n_bins,
    whole.mean_confidence,
    whole.accuracy,
    binned.width_gap / whole.n as ece,
    binned.mass_gap / whole.n as ece_mass,
    whole.brier,
    binned.gap_squares / whole.n as brier_reliability,
    not_negative(binned.accuracy_squares / whole.n - whole.accuracy * whole.accuracy) as brier_resolution,
    whole.accuracy * (1 - whole.accuracy) as brier_uncertainty,
    (whole.right_rank_sum - whole.n_right * (whole.n_right + 1) / 2)
    / nullif(whole.n_right * (whole.n - whole.n_right), 0) as auroc,
    case
        when whole.n_right = whole.n then 'all are right: no AUROC'
        when whole.n_right = 0 then 'all are wrong: no AUROC'
    end as reason
from whole
inner join binned
    on whole.run_id = binned.run_id
    and whole.task = binned.task
    and whole.model = binned.model
    and whole.prompt = binned.prompt
    and whole.scorer = binned.scorer
    and whole.metric = binned.metric
order by
    whole.run_id asc,
    whole.scorer asc,
    whole.metric asc,
    whole.model asc,
    whole.prompt asc;

comment on view calibration is 'Whether confidence can be trusted: how far it is from accuracy, and whether it tells right from wrong.';
comment on column calibration.run_id is 'Run.';
comment on column calibration.task is 'Name of the spec.';
comment on column calibration.model is 'Display name of the model.';
comment on column calibration.prompt is 'Name of the prompt.';
comment on column calibration.scorer is 'Name of the scorer.';
comment on column calibration.scorer_version is 'Number of the definition that graded, from 1.';
comment on column calibration.metric is 'Metric of the scorer.';
comment on column calibration.confidence_sources is 'Where the confidences come from: text, logprobs, votes or provider.';
comment on column calibration.n is 'Answers with a confidence that count.';
comment on column calibration.n_bins is 'Equal-width bins that hold an answer, of ten.';
comment on column calibration.mean_confidence is 'Mean confidence.';
comment on column calibration.accuracy is 'Share of the answers that pass.';
comment on column calibration.ece is 'Expected calibration error over ten bins of equal width.';
comment on column calibration.ece_mass is 'Expected calibration error over ten bins of equal size.';
comment on column calibration.brier is 'Mean squared distance of confidence and outcome.';
comment on column calibration.brier_reliability is 'Part of it that calibration could remove, over the equal-width bins.';
comment on column calibration.brier_resolution is 'Part by which the bins tell right from wrong; lowers the score.';
comment on column calibration.brier_uncertainty is 'Brier score of always saying the accuracy.';
comment on column calibration.auroc is 'Chance that a right answer has the higher confidence than a wrong one; ties count half.';
comment on column calibration.reason is 'Why auroc is NULL; NULL if it is not.';
