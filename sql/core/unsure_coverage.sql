-- What a run whose manifest does not say so shares with its task's reference.
-- One row per (run_id, model, prompt) of the runs in `unsure_run_ids()`, if it shares anything.
-- Counts of (sample_id, epoch) pairs that the primary scorer graded; n_other_* of them were asked or aimed at otherwise.
-- Source: trials and scores of these runs and of the references; input_hash counts where the reference has that prompt name.
create or replace view unsure_coverage as
with unsure_task as (
    select distinct board_candidates.task
    from board_candidates
    where not board_candidates.is_sure
),

primary_definition as (
    select
        definitions.task,
        definitions.scorer_id,
        definitions.recency
    from definitions
    semi join unsure_task
        on definitions.task = unsure_task.task
    where definitions.is_primary
),

reference_input as (
    select distinct
        trials.task,
        trials.prompt,
        trials.sample_id,
        trials.epoch,
        trials.input_hash
    from trials
    semi join unsure_task
        on trials.task = unsure_task.task
    where trials.run_id in reference_run_ids()
),

reference_pair as (
    select distinct
        reference_input.task,
        reference_input.sample_id,
        reference_input.epoch
    from reference_input
),

reference_prompt as (
    select distinct
        reference_input.task,
        reference_input.prompt
    from reference_input
),

reference_grade as (
    select
        scores.task,
        scores.scorer_id,
        scores.sample_id,
        scores.epoch,
        min(scores.target) as target,
        min(primary_definition.recency) as recency
    from scores
    inner join primary_definition
        on scores.task = primary_definition.task
        and scores.scorer_id = primary_definition.scorer_id
    where scores.run_id in reference_run_ids()
    group by
        scores.task,
        scores.scorer_id,
        scores.sample_id,
        scores.epoch
),

newest_grade as (
    select
        reference_grade.task,
        reference_grade.scorer_id,
        reference_grade.sample_id,
        reference_grade.epoch,
        reference_grade.target
    from reference_grade
    qualify reference_grade.recency = max(reference_grade.recency) over (
        partition by reference_grade.task
    )
),

unsure_grade as (
    select
        scores.run_id,
        scores.task,
        scores.model,
        scores.prompt,
        scores.sample_id,
        scores.epoch,
        bool_and(scores.target is not distinct from newest_grade.target) as is_same_target
    from scores
    inner join newest_grade
        on scores.task = newest_grade.task
        and scores.scorer_id = newest_grade.scorer_id
        and scores.sample_id = newest_grade.sample_id
        and scores.epoch = newest_grade.epoch
    where
        scores.run_id in unsure_run_ids()
        and scores.outcome not in ('pending', 'skipped')
    group by
        scores.run_id,
        scores.task,
        scores.model,
        scores.prompt,
        scores.sample_id,
        scores.epoch
),

compared as (
    select
        unsure_grade.run_id,
        unsure_grade.model,
        unsure_grade.prompt,
        reference_prompt.prompt is null or reference_input.input_hash is not null as is_same_input,
        unsure_grade.is_same_target
    from unsure_grade
    inner join reference_pair
        on unsure_grade.task = reference_pair.task
        and unsure_grade.sample_id = reference_pair.sample_id
        and unsure_grade.epoch = reference_pair.epoch
    inner join trials
        on unsure_grade.run_id = trials.run_id
        and unsure_grade.model = trials.model
        and unsure_grade.prompt = trials.prompt
        and unsure_grade.sample_id = trials.sample_id
        and unsure_grade.epoch = trials.epoch
    left join reference_prompt
        on unsure_grade.task = reference_prompt.task
        and unsure_grade.prompt = reference_prompt.prompt
    left join reference_input
        on trials.task = reference_input.task
        and trials.prompt = reference_input.prompt
        and trials.sample_id = reference_input.sample_id
        and trials.epoch = reference_input.epoch
        and trials.input_hash = reference_input.input_hash
    where trials.run_id in unsure_run_ids()
)

select
    compared.run_id,
    compared.model,
    compared.prompt,
    count(*) as n_shared,
    count(*) filter (where not compared.is_same_input) as n_other_input,
    count(*) filter (where compared.is_same_input and not compared.is_same_target) as n_other_target
from compared
group by
    compared.run_id,
    compared.model,
    compared.prompt;
