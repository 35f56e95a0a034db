-- Whether a run is worse than another by more than is allowed, and whether there is evidence for it.
-- One row per (task, scorer, metric) and entrant, named as in comparison; `gate` says the verdict over all rows.
-- mean_drop: base - new, turned so that a drop is a loss, in the scorer's unit; NULL max_drop: not gated; p_holm over what is gated.
-- Source: comparison. fail: drop above the limit (any drop from 0, if relative), p_holm <= significance, more worse than better.
create or replace macro gate(
    a_run,
    b_run,
    max_drop := null,
    is_relative := false,
    limits := null,
    max_errors := 0.05,
    max_apart := 0.05,
    significance := 0.05,
    allow_prompt := false,
    allow_scorer := false,
    a_model := null,
    b_model := null,
    a_prompt := null,
    b_prompt := null
) as table
with compared as materialized (
    select
        pair.*,
        pair.n_a = 0 or pair.n_a_pending = pair.n_a as is_added,
        pair.n_b = 0 as is_removed,
        round(0 - pair.gain, 12) as loss,
        coalesce(
            drop_limits(limits)[concat(pair.task, '/', pair.scorer, ':', pair.metric)],
            drop_limits(limits)[concat(pair.scorer, ':', pair.metric)],
            drop_limits(limits)[concat(pair.task, '/', pair.scorer)],
            drop_limits(limits)[pair.scorer],
            struct_pack(at_most := cast(max_drop as double), is_relative := cast(is_relative as boolean))
        ) as allowed
    from comparison(
        a_run, b_run, a_model := a_model, b_model := b_model, a_prompt := a_prompt, b_prompt := b_prompt
    ) as pair
),

differing as (
    select
        compared.*,
        compared.allowed.at_most is not null as is_gated,
        nullif(
            concat_ws(
                '; ',
                case
                    when compared.is_other_scorer and not allow_scorer
                        then format(
                            'other scorer version: {} in the base, {} now',
                            compared.a_version,
                            compared.b_version
                        )
                end,
                case
                    when compared.n_other_input > 0 and not allow_prompt
                        then format(
                            'other prompt: {:,} of {:,} are asked otherwise',
                            compared.n_other_input,
                            compared.n_trials
                        )
                end,
                case
                    when compared.n_other_question > max_apart * compared.n_trials
                        then format(
                            'other samples: {:,} of {:,} ask or expect something else',
                            compared.n_other_question,
                            compared.n_trials
                        )
                end,
                case
                    when compared.n_one_sided > max_apart * compared.n_trials
                        then format(
                            'other samples: {:,} of {:,} are on one side only',
                            compared.n_one_sided,
                            compared.n_trials
                        )
                end,
                case
                    when compared.n_excluded > max_apart * compared.n_trials
                        then format(
                            'other samples: {:,} of {:,} count on one side only',
                            compared.n_excluded,
                            compared.n_trials
                        )
                end,
                case
                    when compared.n_a_pending > 0
                        then format(
                            'partial: {:,} of {:,} have no grade yet in the base',
                            compared.n_a_pending,
                            compared.n_a
                        )
                end,
                case
                    when compared.n_b_pending > 0
                        then format(
                            'partial: {:,} of {:,} have no grade yet', compared.n_b_pending, compared.n_b
                        )
                end
            ),
            ''
        ) as obstacle,
        nullif(
            concat_ws(
                '; ',
                case
                    when compared.n_a_errors > max_errors * compared.n_a
                        then format('errors in {:,} of {:,} of the base', compared.n_a_errors, compared.n_a)
                end,
                case
                    when compared.n_b_errors > max_errors * compared.n_b
                        then format('errors in {:,} of {:,}', compared.n_b_errors, compared.n_b)
                end,
                case
                    when compared.n_shared = 0 and not (compared.is_added or compared.is_removed)
                        then 'no grade in common'
                end
            ),
            ''
        ) as failure
    from compared
),

measured as (
    select
        differing.*,
        differing.is_gated
        and not (differing.is_added or differing.is_removed)
        and differing.obstacle is null
        and differing.failure is null as is_usable,
        case
            when differing.loss <= 0 then false
            when not differing.allowed.is_relative
                then round(differing.loss - differing.allowed.at_most, 9) > 0
            when differing.a_mean = 0 then true
            else round(differing.loss / abs(differing.a_mean) - differing.allowed.at_most, 9) > 0
        end as is_exceeded
    from differing
),

ranked as (
    select
        measured.*,
        row_number() over (
            partition by measured.is_usable
            order by
                measured.p asc nulls last,
                measured.task asc,
                measured.scorer asc,
                measured.metric asc,
                measured.model asc,
                measured.prompt asc
        ) as evidence_rank,
        count(measured.p) over (partition by measured.is_usable) as n_tests
    from measured
),

corrected as (
    select
        ranked.*,
        case
            when ranked.is_usable and ranked.p is not null
                then max(holm_step(ranked.p, ranked.evidence_rank, ranked.n_tests)) over (
                    partition by ranked.is_usable
                    order by ranked.evidence_rank asc
                )
        end as p_holm
    from ranked
),

judged as (
    select
        corrected.*,
        case
            when corrected.is_removed then 'removed'
            when corrected.is_added then 'added'
            when not corrected.is_gated then 'not gated'
            when corrected.obstacle is not null then 'not comparable'
            when corrected.failure is not null then 'errors'
            when not corrected.is_exceeded then 'pass'
            when significance >= 1 then 'fail'
            when corrected.p_holm <= significance and corrected.n_worse > corrected.n_better then 'fail'
            else 'undecided'
        end as verdict
    from corrected
)

select
    judged.verdict,
    judged.task,
    judged.scorer,
    judged.metric,
    judged.model,
    judged.prompt,
    judged.b_model,
    judged.b_prompt,
    judged.a_mean as base_mean,
    judged.b_mean as new_mean,
    judged.loss as mean_drop,
    judged.loss / nullif(abs(judged.a_mean), 0) as relative_drop,
    judged.allowed.at_most as max_drop,
    judged.allowed.is_relative and judged.is_gated as is_relative,
    judged.n_shared,
    judged.n_better,
    judged.n_worse,
    judged.test,
    judged.p,
    judged.p_holm,
    case
        when judged.is_removed then 'not in the new run'
        when judged.n_a = 0 then 'not in the base'
        when judged.is_added then 'not graded in the base'
        when judged.obstacle is not null or judged.failure is not null
            then concat_ws('; ', judged.obstacle, judged.failure)
        when judged.verdict = 'undecided'
            then format(
                '{:,} worse, {:,} better of {:,} is no evidence',
                judged.n_worse,
                judged.n_better,
                judged.n_shared
            )
        when judged.n_one_sided + judged.n_other_question + judged.n_missing > 0
            then format(
                '{:,} of {:,} are left out: on one side, changed, or without a grade',
                judged.n_one_sided + judged.n_other_question + judged.n_missing,
                judged.n_trials
            )
    end as reason,
    judged.n_a_errors as n_base_errors,
    judged.n_b_errors as n_new_errors,
    judged.n_a as n_base,
    judged.n_b as n_new,
    case
        when bool_or(judged.verdict = 'fail') over () then 'fail'
        when bool_or(judged.verdict in ('not comparable', 'errors')) over () then 'unusable'
        when bool_or(judged.verdict = 'undecided') over () then 'undecided'
        when bool_or(judged.verdict = 'pass') over () then 'pass'
        else 'unusable'
    end as gate
from judged
order by
    list_position(
        ['fail', 'not comparable', 'errors', 'undecided', 'removed', 'added', 'pass', 'not gated'],
        judged.verdict
    ) asc,
    judged.task asc,
    judged.scorer asc,
    judged.metric asc,
    judged.model asc,
    judged.prompt asc;

-- gate.verdict: fail, not comparable, errors, undecided, removed, added, pass or not gated.
-- gate.task: Name of the spec.
-- gate.scorer: Name of the scorer.
-- gate.metric: Metric of the scorer.
-- gate.model: Display name of the model; where each side names one, that of the base.
-- gate.prompt: Name of the prompt; where each side names one, that of the base.
-- gate.b_model: Display name of the model of the new run.
-- gate.b_prompt: Name of the prompt of the new run.
-- gate.base_mean: Mean of the base over the shared samples; NULL if there are none.
-- gate.new_mean: Mean of the new run over the shared samples.
-- gate.mean_drop: How much worse the new run is, in the scorer's unit; below 0 it is better.
-- gate.relative_drop: mean_drop as a share of the base's mean; NULL if that is 0.
-- gate.max_drop: Drop that is allowed; NULL: not gated.
-- gate.is_relative: Whether max_drop is a share of the base's mean.
-- gate.n_shared: Samples (not trials) on which both have a grade that counts: means and test are over these.
-- gate.n_better: Shared samples (or clusters) on which the new run is better.
-- gate.n_worse: Shared samples (or clusters) on which the new run is worse.
-- gate.test: mcnemar, sign, sign over clusters, or fisher; NULL if nothing is shared.
-- gate.p: Exact two-sided p; NULL where nothing differs.
-- gate.p_holm: p corrected for all gated rows that can be used; NULL for the others.
-- gate.reason: Why the row has no verdict, or what it leaves out; NULL if nothing is to be said.
-- gate.n_base_errors: Trials of the base without a grade because something failed.
-- gate.n_new_errors: Trials of the new run without a grade because something failed.
-- gate.n_base: Trials (not samples) of the base, whatever their outcome.
-- gate.n_new: Trials (not samples) of the new run, whatever their outcome.
-- gate.gate: The verdict over all rows, the same in each: fail, unusable, undecided or pass.
