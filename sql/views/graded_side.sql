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

-- graded_side.run_id: Run.
-- graded_side.task: Name of the spec.
-- graded_side.model: Display name of the model.
-- graded_side.model_id: Identity of the model with its parameters.
-- graded_side.prompt: Name of the prompt.
-- graded_side.sample_id: Sample, unique in its dataset.
-- graded_side.epoch: Repeat number, from 1.
-- graded_side.cluster: Value of the cluster column; NULL if none.
-- graded_side.scorer: Name of the scorer.
-- graded_side.scorer_id: Identity of the definition that is taken.
-- graded_side.scorer_version: Its number under the scorer's name, from 1.
-- graded_side.metric: Metric of the scorer.
-- graded_side.score: Score that counts; NULL if it is missing.
-- graded_side.worth: The score turned so that more is better, to 12 digits.
-- graded_side.is_pass: Whether it passes, as it counts.
-- graded_side.counts_as: score, worst (unanswered) or missing (leaves the denominator).
-- graded_side.outcome: scored, or why not.
-- graded_side.target: Target as text.
-- graded_side.extracted: What was compared with the target; NULL if nothing was found.
-- graded_side.response: Text of the answer; NULL if there is none.
-- graded_side.tool_calls: JSON list of tool calls; NULL if none.
-- graded_side.response_id: Answer used; NULL unless answered.
-- graded_side.served_model: Model name that the provider reported.
-- graded_side.sample_hash: Content hash of the dataset row.
-- graded_side.input_hash: Hash of what the model was asked.
-- graded_side.question: Last message of the prompt, else the dataset row.
-- graded_side.served_by: Provider, name, revision and server of the model, as one text.
