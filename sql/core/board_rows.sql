-- Every entrant of every board with its grades, by the run that shows it, and whether it is ranked or why not.
-- One row per (task, model, prompt, scorer, metric); board_no and row_no number boards and rows as they are shown.
-- reason is NULL for a ranked entrant; NULL mean means that nothing counts; n_ranked counts the ranked rows of the board.
-- Source: the newest run that covers 95 % of the reference, else the newest; graded by the reference's definition if it can be.
create or replace view board_rows as
-- few: all boards have few rows, counted from millions
with entrant as ( -- noqa: ST03
    select
        board_candidates.task,
        board_candidates.model,
        board_candidates.prompt,
        board_candidates.run_id,
        board_candidates.started_at,
        board_candidates.is_reference,
        board_candidates.is_sure,
        board_candidates.epochs,
        entrant_counts.n_trials,
        max(case when board_candidates.is_reference then entrant_counts.n_trials end) over (
            partition by board_candidates.task
        ) as n_reference
    from board_candidates
    inner join entrant_counts
        on board_candidates.run_id = entrant_counts.run_id
        and board_candidates.model = entrant_counts.model
        and board_candidates.prompt = entrant_counts.prompt
    where entrant_counts.run_id in board_run_ids()
),

board_total as ( -- noqa: ST03
    select grade_totals.*
    from grade_totals
    where grade_totals.run_id in board_run_ids()
),

few_entrants as (
    select few.*
    from few(entrant) as few
),

few_totals as (
    select few.*
    from few(board_total) as few
),

current_scorer as (
    select distinct
        definitions.task,
        definitions.scorer,
        definitions.is_primary
    from definitions
    where definitions.is_current
),

totalled as (
    select
        entrant.task,
        entrant.model,
        entrant.prompt,
        entrant.run_id,
        entrant.started_at,
        entrant.is_reference,
        entrant.is_sure,
        entrant.epochs,
        entrant.n_trials,
        entrant.n_reference,
        current_scorer.scorer,
        current_scorer.is_primary,
        grade_totals.scorer_id,
        grade_totals.recency,
        coalesce(grade_totals.metric, 'score') as metric,
        coalesce(grade_totals.is_first_metric, true) as is_first_metric,
        grade_totals.n,
        grade_totals.n_samples,
        grade_totals.n_counted,
        grade_totals.n_pass,
        grade_totals.n_unanswered,
        grade_totals.n_errors,
        grade_totals.n_no_target,
        grade_totals.n_pending,
        grade_totals.mean,
        grade_totals.stderr,
        grade_totals.interval_95,
        grade_totals.mean_answered,
        grade_totals.mean_worst,
        grade_totals.mean_best,
        grade_totals.scorer_version,
        grade_totals.position,
        grade_totals.score_min,
        grade_totals.score_max,
        grade_totals.higher_is_better,
        grade_totals.unanswered_score,
        arg_max(grade_totals.scorer_id, grade_totals.recency) filter (where entrant.is_reference) over (
            partition by entrant.task, current_scorer.scorer
        ) as reference_scorer_id
    from few_entrants as entrant
    inner join current_scorer
        on entrant.task = current_scorer.task
    left join few_totals as grade_totals
        on entrant.run_id = grade_totals.run_id
        and entrant.model = grade_totals.model
        and entrant.prompt = grade_totals.prompt
        and current_scorer.scorer = grade_totals.scorer
),

fitting as (
    select
        totalled.*,
        coalesce(totalled.scorer_id = totalled.reference_scorer_id, false) as is_same_definition
    from totalled
    qualify totalled.scorer_id is not distinct from first_value(totalled.scorer_id) over (
        partition by totalled.run_id, totalled.model, totalled.prompt, totalled.scorer
        order by
            coalesce(totalled.scorer_id = totalled.reference_scorer_id, false) desc,
            totalled.recency desc
    )
),

covered as (
    select
        fitting.*,
        coalesce(unsure_coverage.n_other_input, 0) as n_other_input,
        coalesce(unsure_coverage.n_other_target, 0) as n_other_target,
        case
            when fitting.is_sure
                then coalesce(
                    max(fitting.n - fitting.n_pending) filter (
                        where fitting.is_primary and fitting.is_same_definition
                    ) over (
                        partition by fitting.run_id, fitting.model, fitting.prompt
                    ),
                    0
                )
            else coalesce(
                unsure_coverage.n_shared - unsure_coverage.n_other_input - unsure_coverage.n_other_target,
                0
            )
        end as n_covered
    from fitting
    left join unsure_coverage
        on fitting.run_id = unsure_coverage.run_id
        and fitting.model = unsure_coverage.model
        and fitting.prompt = unsure_coverage.prompt
),

chosen as (
    select
        covered.task,
        covered.scorer,
        covered.metric,
        covered.model,
        covered.prompt,
        covered.run_id,
        covered.is_reference,
        covered.is_primary,
        covered.is_first_metric,
        covered.position,
        covered.scorer_id,
        covered.scorer_version,
        covered.score_min,
        covered.score_max,
        covered.higher_is_better,
        covered.unanswered_score,
        covered.epochs,
        covered.n_trials,
        covered.n_samples,
        covered.n_counted,
        covered.n_pass,
        covered.n_unanswered,
        covered.n_errors,
        covered.n_no_target,
        covered.mean,
        worth_of(covered.mean, covered.higher_is_better) as worth,
        covered.stderr,
        covered.interval_95,
        covered.mean_answered,
        covered.mean_worst,
        covered.mean_best,
        case
            when covered.scorer_id is null then 'not graded'
            when not covered.is_same_definition then 'other scorer version'
            when covered.n_covered >= 0.95 * covered.n_reference then case
                when covered.n_errors > 0.05 * covered.n
                    then format('errors {:d} %', cast(round(100.0 * covered.n_errors / covered.n) as bigint))
                when covered.mean is null then 'nothing to rank by'
            end
            when covered.n_other_input > 0.05 * covered.n_reference then 'other prompt'
            when covered.n_other_target > 0.05 * covered.n_reference then 'other targets'
            else format('partial {:,} of {:,}', covered.n_covered, covered.n_reference)
        end as reason
    from covered
    qualify covered.run_id = first_value(covered.run_id) over (
        partition by covered.task, covered.model, covered.prompt
        order by
            covered.n_covered >= 0.95 * covered.n_reference desc,
            covered.started_at desc nulls last,
            covered.run_id desc
    )
)

select
    chosen.task,
    chosen.scorer,
    chosen.metric,
    chosen.model,
    chosen.prompt,
    chosen.run_id,
    chosen.is_reference,
    chosen.is_primary,
    chosen.is_first_metric,
    chosen.position,
    chosen.scorer_id,
    chosen.scorer_version,
    chosen.score_min,
    chosen.score_max,
    chosen.higher_is_better,
    chosen.unanswered_score,
    chosen.epochs,
    chosen.n_trials,
    chosen.n_samples,
    chosen.n_counted,
    chosen.n_pass,
    chosen.n_unanswered,
    chosen.n_errors,
    chosen.n_no_target,
    chosen.mean,
    chosen.worth,
    chosen.stderr,
    chosen.interval_95,
    chosen.mean_answered,
    chosen.mean_worst,
    chosen.mean_best,
    chosen.reason,
    chosen.reason is null as is_ranked,
    row_number() over (
        order by
            chosen.task asc,
            chosen.is_primary desc,
            chosen.position asc,
            chosen.scorer asc,
            chosen.metric <> 'score' asc,
            chosen.metric asc,
            chosen.reason is null desc,
            chosen.worth desc nulls last,
            chosen.model asc,
            chosen.prompt asc
    ) as row_no,
    dense_rank() over (
        order by
            chosen.task asc,
            chosen.is_primary desc,
            chosen.position asc,
            chosen.scorer asc,
            chosen.metric <> 'score' asc,
            chosen.metric asc
    ) as board_no,
    count(*) filter (where chosen.reason is null) over (
        partition by chosen.task, chosen.scorer, chosen.metric
    ) as n_ranked
from chosen;
