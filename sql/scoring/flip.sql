-- Grades that a run would have: the relation `new_score` beside the newest stored grades of the same scorer name.
-- One row per trial x metric of either.
-- change and cause as in `diff`, and pending where a judge is to be asked; is_other: score, outcome or extraction differs.
-- Source: graded; what counts follows the policies of both definitions, as in `grades`.
create or replace temp table flip as
with old_grade as (
    select
        graded.model,
        graded.prompt,
        graded.sample_id,
        graded.epoch,
        graded.metric,
        graded.raw_score as score,
        graded.is_pass,
        graded.outcome,
        graded.extracted,
        worth_of(graded.score, definitions.higher_is_better) as worth
    from graded
    inner join definitions
        on graded.task = definitions.task
        and graded.scorer = definitions.scorer
        and graded.scorer_id = definitions.scorer_id
    where
        graded.run_id = $run_id
        and graded.scorer = $scorer
),

new_grade as (
    select
        new_score.model,
        new_score.prompt,
        new_score.sample_id,
        new_score.epoch,
        new_score.metric,
        new_score.target,
        new_score.score,
        new_score.outcome,
        new_score.extracted,
        counted_pass(
            new_score.score, new_score.is_pass, new_score.outcome, $unanswered_score, $pass_threshold
        ) as is_pass,
        worth_of(
            counted_score(new_score.score, new_score.outcome, $unanswered_score), $higher_is_better
        ) as worth
    from new_score
),

paired as (
    select
        coalesce(new_grade.metric, old_grade.metric) as metric,
        coalesce(new_grade.model, old_grade.model) as model,
        coalesce(new_grade.prompt, old_grade.prompt) as prompt,
        coalesce(new_grade.sample_id, old_grade.sample_id) as sample_id,
        coalesce(new_grade.epoch, old_grade.epoch) as epoch,
        new_grade.target,
        old_grade.extracted as old_extracted,
        new_grade.extracted as new_extracted,
        old_grade.outcome as old_outcome,
        new_grade.outcome as new_outcome,
        old_grade.score as old_score,
        new_grade.score as new_score,
        old_grade.is_pass as old_is_pass,
        new_grade.is_pass as new_is_pass,
        new_grade.worth - old_grade.worth as gain,
        old_grade.sample_id is null or new_grade.sample_id is null as is_one_sided,
        old_grade.worth is null or new_grade.worth is null as is_missing,
        is_failure(old_grade.outcome) or is_failure(new_grade.outcome) as is_failed,
        old_grade.worth is null and new_grade.worth is null
        and not (is_failure(old_grade.outcome) or is_failure(new_grade.outcome))
        and old_grade.outcome <> 'pending' as is_ungraded
    from new_grade
    full outer join old_grade
        on new_grade.model = old_grade.model
        and new_grade.prompt = old_grade.prompt
        and new_grade.sample_id = old_grade.sample_id
        and new_grade.epoch = old_grade.epoch
        and new_grade.metric = old_grade.metric
),

changed as (
    select
        paired.*,
        case
            when paired.new_outcome = 'pending' and paired.old_outcome = 'pending' then 'same'
            when paired.new_outcome = 'pending' then 'pending'
            when paired.is_one_sided then 'one_sided'
            when paired.is_ungraded then 'same'
            when paired.is_missing then 'not_comparable'
            when not paired.old_is_pass and paired.new_is_pass then 'fixed'
            when paired.old_is_pass and not paired.new_is_pass then 'broken'
            when paired.gain > 0 then 'up'
            when paired.gain < 0 then 'down'
            else 'same'
        end as change
    from paired
)

select
    changed.metric,
    changed.model,
    changed.prompt,
    changed.sample_id,
    changed.epoch,
    changed.target,
    changed.old_extracted,
    changed.new_extracted,
    changed.old_outcome,
    changed.new_outcome,
    changed.old_score,
    changed.new_score,
    changed.change,
    case
        when changed.change in ('same', 'one_sided', 'pending') then null
        when changed.is_missing and changed.is_failed then 'error'
        when changed.is_missing then 'no_grade'
        else 'scorer'
    end as cause,
    changed.is_one_sided
    or (changed.old_score is distinct from changed.new_score)
    or (changed.old_outcome is distinct from changed.new_outcome)
    or (changed.old_extracted is distinct from changed.new_extracted) as is_other
from changed
