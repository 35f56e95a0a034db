-- Two runs, models, prompts or scorer versions compared, trial by trial.
-- One row per (sample_id, epoch, scorer, metric) and what pairs by name: model, prompt and scorer, unless both sides name one.
-- change: fixed, broken, up, down, same (also where neither side has a grade and nothing failed), one_sided, not_comparable. NULL cause: same or one-sided.
-- Source: graded_side of a and b; the cause is the first that differs and can have done it, from the question to the grade.
create or replace macro diff(
    a_run,
    b_run,
    a_model := null,
    b_model := null,
    a_prompt := null,
    b_prompt := null,
    a_scorer := null,
    b_scorer := null,
    a_version := null,
    b_version := null
) as table
with a as (
    select side.*
    from graded_side(a_run, a_model, a_prompt, a_scorer, a_version) as side
),

b as (
    select side.*
    from graded_side(b_run, b_model, b_prompt, b_scorer, b_version) as side
),

paired as (
    select
        coalesce(a.task, b.task) as task,
        coalesce(a.scorer, b.scorer) as scorer,
        a.scorer as a_scorer,
        b.scorer as b_scorer,
        coalesce(a.metric, b.metric) as metric,
        coalesce(a.sample_id, b.sample_id) as sample_id,
        coalesce(a.epoch, b.epoch) as epoch,
        coalesce(a.cluster, b.cluster) as cluster,
        a.model as a_model,
        b.model as b_model,
        a.prompt as a_prompt,
        b.prompt as b_prompt,
        a.scorer_version as a_version,
        b.scorer_version as b_version,
        a.score as a_score,
        b.score as b_score,
        b.worth - a.worth as gain,
        a.is_pass as a_is_pass,
        b.is_pass as b_is_pass,
        a.outcome as a_outcome,
        b.outcome as b_outcome,
        a.target as a_target,
        b.target as b_target,
        a.extracted as a_extracted,
        b.extracted as b_extracted,
        a.response as a_response,
        b.response as b_response,
        a.served_model as a_served_model,
        b.served_model as b_served_model,
        coalesce(a.question, b.question) as question,
        a.sample_id is null or b.sample_id is null as is_one_sided,
        a.counts_as = 'missing' or b.counts_as = 'missing' as is_missing,
        is_failure(a.outcome) or is_failure(b.outcome) as is_failed,
        a.counts_as = 'missing' and b.counts_as = 'missing'
        and not (is_failure(a.outcome) or is_failure(b.outcome))
        and a.outcome <> 'pending'
        and b.outcome <> 'pending' as is_ungraded,
        differs(a.input_hash, b.input_hash) as is_other_input,
        differs(a.input_hash, b.input_hash) and differs(a.sample_hash, b.sample_hash) as is_other_sample,
        differs(a.target, b.target) and a.scorer_id = b.scorer_id as is_other_target,
        differs(a.served_by, b.served_by) as is_other_model,
        differs(a.model_id, b.model_id) as is_other_params,
        differs(a.prompt, b.prompt) or differs(a.input_hash, b.input_hash) as is_other_prompt,
        differs(a.response, b.response) or differs(a.tool_calls, b.tool_calls) as is_other_response,
        differs(a.served_model, b.served_model) as is_other_served_model,
        a.scorer_id <> b.scorer_id as is_other_scorer
    from a
    full outer join b
        on a.sample_id = b.sample_id
        and a.epoch = b.epoch
        and a.metric = b.metric
        and ((a_model is not null and b_model is not null) or a.model = b.model)
        and ((a_prompt is not null and b_prompt is not null) or a.prompt = b.prompt)
        and ((a_scorer is not null and b_scorer is not null) or a.scorer = b.scorer)
),

changed as (
    select
        paired.*,
        case
            when paired.is_one_sided then 'one_sided'
            when paired.is_ungraded then 'same'
            when paired.is_missing or paired.is_other_target or paired.is_other_sample then 'not_comparable'
            when not paired.a_is_pass and paired.b_is_pass then 'fixed'
            when paired.a_is_pass and not paired.b_is_pass then 'broken'
            when paired.gain > 0 then 'up'
            when paired.gain < 0 then 'down'
            else 'same'
        end as change
    from paired
)

select
    changed.task,
    changed.scorer,
    changed.metric,
    changed.sample_id,
    changed.epoch,
    changed.change,
    case
        when changed.change in ('same', 'one_sided') then null
        when changed.is_missing and changed.is_failed then 'error'
        when changed.is_missing then 'no_grade'
        when changed.is_other_sample then 'sample'
        when changed.is_other_target then 'target'
        when not changed.is_other_response and changed.is_other_scorer then 'scorer'
        when changed.is_other_model then 'model'
        when changed.is_other_prompt then 'prompt'
        when changed.is_other_params then 'params'
        when changed.is_other_response and changed.is_other_served_model then 'served_model'
        when changed.is_other_response then 'response'
        else 'scorer'
    end as cause,
    changed.a_score,
    changed.b_score,
    changed.gain,
    changed.a_is_pass,
    changed.b_is_pass,
    changed.a_outcome,
    changed.b_outcome,
    changed.a_model,
    changed.b_model,
    changed.a_prompt,
    changed.b_prompt,
    changed.a_scorer,
    changed.b_scorer,
    changed.a_version,
    changed.b_version,
    changed.a_target,
    changed.b_target,
    changed.a_extracted,
    changed.b_extracted,
    changed.question,
    changed.a_response,
    changed.b_response,
    changed.a_served_model,
    changed.b_served_model,
    changed.is_other_response,
    changed.is_other_input,
    changed.cluster,
    changed.is_other_scorer
from changed
order by
    changed.scorer asc,
    changed.metric asc,
    changed.a_model asc nulls last,
    changed.a_prompt asc nulls last,
    list_position(
        ['broken', 'fixed', 'down', 'up', 'not_comparable', 'one_sided', 'same'], changed.change
    ) asc,
    changed.sample_id asc,
    changed.epoch asc;

-- diff.task: Name of the spec.
-- diff.scorer: Name of the scorer; where each side names one, that of a.
-- diff.metric: Metric of the scorer.
-- diff.sample_id: Sample, unique in its dataset.
-- diff.epoch: Repeat number, from 1.
-- diff.change: fixed (passes now), broken (passed before), up or down (the score moved, the verdict did not), same, one_sided, not_comparable.
-- diff.cause: The first that differs of error, no_grade, sample, target, scorer (equal answers), model, prompt, params (a python model's or replay's changed file is one), served_model, response; NULL: same or one-sided.
-- diff.a_score: Score of a as it counts; NULL if it is missing.
-- diff.b_score: Score of b as it counts; NULL if it is missing.
-- diff.gain: b minus a in the scorer's unit, turned so that more is better; NULL if a score is missing.
-- diff.a_is_pass: Whether a passes, as it counts.
-- diff.b_is_pass: Whether b passes, as it counts.
-- diff.a_outcome: scored, or why not; NULL if a has no such trial.
-- diff.b_outcome: scored, or why not; NULL if b has no such trial.
-- diff.a_model: Display name of the model of a.
-- diff.b_model: Display name of the model of b.
-- diff.a_prompt: Name of the prompt of a.
-- diff.b_prompt: Name of the prompt of b.
-- diff.a_scorer: Name of the scorer of a.
-- diff.b_scorer: Name of the scorer of b.
-- diff.a_version: Number of the definition that graded a, from 1.
-- diff.b_version: Number of the definition that graded b, from 1.
-- diff.a_target: Target of a as text.
-- diff.b_target: Target of b as text.
-- diff.a_extracted: What was compared with the target in a; NULL if nothing was found.
-- diff.b_extracted: What was compared with the target in b; NULL if nothing was found.
-- diff.question: Last message of the prompt, else the dataset row.
-- diff.a_response: Text of the answer of a; NULL if there is none.
-- diff.b_response: Text of the answer of b; NULL if there is none.
-- diff.a_served_model: Model name that the provider reported for a.
-- diff.b_served_model: Model name that the provider reported for b.
-- diff.is_other_response: Whether the texts, or tool calls, of the answers differ.
-- diff.is_other_input: Whether the models were asked something else.
-- diff.cluster: Value of the cluster column; NULL if none.
-- diff.is_other_scorer: Whether two definitions graded the sides; NULL if one-sided.
