-- One side of a comparison: the trials of a run with their grades.
-- One row per (model, prompt, sample_id, epoch, scorer, metric). NULL for an argument but the run means all.
-- By the definition of the given version; without one, by the newest that graded the run, else the current one.
-- Source: grades.
create or replace macro graded_side(side_run, side_model, side_prompt, side_scorer, side_version) as table
with chosen as (
    select
        definitions.task,
        definitions.scorer,
        definitions.scorer_id,
        definitions.scorer_version,
        definitions.higher_is_better
    from definitions
    semi join manifests
        on definitions.task = manifests.task
        and manifests.run_id = side_run
    left join run_definitions
        on run_definitions.run_id = side_run
        and definitions.task = run_definitions.task
        and definitions.scorer = run_definitions.scorer
    where
        (side_scorer is null or definitions.scorer = side_scorer)
        and case
            when side_version is not null then definitions.scorer_version = side_version
            when run_definitions.scorer_id is not null then definitions.scorer_id = run_definitions.scorer_id
            else definitions.is_current
        end
)

select
    grades.run_id,
    grades.task,
    grades.model,
    grades.model_id,
    grades.prompt,
    grades.sample_id,
    grades.epoch,
    grades.cluster,
    grades.scorer,
    grades.scorer_id,
    grades.scorer_version,
    grades.metric,
    grades.score,
    worth_of(grades.score, chosen.higher_is_better) as worth,
    grades.is_pass,
    grades.counts_as,
    grades.outcome,
    grades.target,
    grades.extracted,
    grades.response,
    grades.tool_calls,
    grades.response_id,
    grades.served_model,
    grades.sample_hash,
    grades.input_hash,
    question_of(grades.messages, grades.sample) as question,
    concat_ws(
        ' ',
        run_models.provider,
        run_models.name,
        coalesce(run_models.revision, '-'),
        coalesce(run_models.endpoint, run_models.base_url)
    ) as served_by
from grades
inner join chosen
    on grades.task = chosen.task
    and grades.scorer = chosen.scorer
    and grades.scorer_id = chosen.scorer_id
left join run_models
    on run_models.run_id = side_run
    and grades.model = run_models.model
where
    grades.run_id = side_run
    and (side_model is null or grades.model = side_model)
    and (side_prompt is null or grades.prompt = side_prompt);
