-- Grades that are worth a second look: likely mistakes of the grading rather than of the model.
-- One row per (run_id, model, prompt, sample_id, epoch, scorer, metric) with a reason.
-- score as it counts; reasons from the most to the least telling; the newest run first. Ask with a predicate on run_id.
-- Source: graded; a target is looked for as whole words or numbers, and one of a single letter is not.
create or replace view audit as
with judged as (
    select
        graded.run_id,
        graded.task,
        graded.model,
        graded.prompt,
        graded.sample_id,
        graded.epoch,
        graded.scorer,
        graded.metric,
        graded.score,
        graded.is_pass,
        graded.outcome,
        graded.target,
        graded.extracted,
        graded.messages,
        graded.response,
        graded.stop_reason,
        graded.detail,
        graded.category,
        graded.sample,
        -- measures of likeness have no threshold in common, so only what says yes or no can disagree
        graded.metric = 'score'
        and definitions.score_min = 0
        and definitions.score_max = 1
        and graded.score in (0, 1)
        and coalesce(definitions.type, '') not in (
            'combine', 'f1', 'bleu', 'bleu_add1', 'chrf', 'rouge_l', 'edit_distance'
        ) as has_own_opinion,
        coalesce(definitions.type, '') not in ('label', 'judge') as needs_target
    from graded
    inner join definitions
        on graded.task = definitions.task
        and graded.scorer = definitions.scorer
        and graded.scorer_id = definitions.scorer_id
),

opinion as (
    select
        judged.run_id,
        judged.model,
        judged.prompt,
        judged.sample_id,
        judged.epoch,
        string_agg(judged.scorer, ', ' order by judged.scorer asc)
            filter (where judged.is_pass) as passed_by,
        string_agg(judged.scorer, ', ' order by judged.scorer asc)
            filter (where not judged.is_pass) as failed_by
    from judged
    where judged.has_own_opinion
    group by
        judged.run_id,
        judged.model,
        judged.prompt,
        judged.sample_id,
        judged.epoch
),

read as (
    select
        judged.run_id,
        judged.model,
        judged.prompt,
        judged.sample_id,
        judged.epoch,
        judged.scorer,
        judged.metric,
        spoken_tokens(strip_text(final_text(judged.response))) as answer,
        spoken_tokens(regexp_extract(strip_text(final_text(judged.response)), '[^\n]*\z')) as last_line,
        unnest(
            case
                when json_valid(judged.target) and json_type(judged.target) = 'ARRAY'
                    then cast(cast(judged.target as json) as varchar[])
                else [judged.target]
            end
        ) as target
    from judged
    where
        not judged.is_pass
        and judged.target is not null
        and judged.response is not null
),

found as (
    select
        read.run_id,
        read.model,
        read.prompt,
        read.sample_id,
        read.epoch,
        read.scorer,
        read.metric,
        bool_or(contains(read.answer, spoken_tokens(read.target))) as is_in_text,
        bool_or(contains(read.last_line, spoken_tokens(read.target))) as is_in_last_line
    from read
    where not regexp_full_match(spoken_tokens(read.target), '[ .-]*\pL?[ .-]*')
    group by
        read.run_id,
        read.model,
        read.prompt,
        read.sample_id,
        read.epoch,
        read.scorer,
        read.metric
),

looked as (
    select
        judged.run_id,
        judged.task,
        judged.model,
        judged.prompt,
        judged.sample_id,
        judged.epoch,
        judged.scorer,
        judged.metric,
        judged.score,
        judged.outcome,
        judged.target,
        judged.extracted,
        judged.messages,
        judged.response,
        judged.stop_reason,
        judged.detail,
        judged.category,
        judged.sample,
        judged.needs_target,
        case
            when judged.has_own_opinion and judged.is_pass then opinion.failed_by
            when judged.has_own_opinion and not judged.is_pass then opinion.passed_by
        end as disagrees_with,
        found.is_in_last_line,
        found.is_in_text
    from judged
    left join opinion
        on judged.run_id = opinion.run_id
        and judged.model = opinion.model
        and judged.prompt = opinion.prompt
        and judged.sample_id = opinion.sample_id
        and judged.epoch = opinion.epoch
    left join found
        on judged.run_id = found.run_id
        and judged.model = found.model
        and judged.prompt = found.prompt
        and judged.sample_id = found.sample_id
        and judged.epoch = found.epoch
        and judged.scorer = found.scorer
        and judged.metric = found.metric
),

suspected as (
    select
        looked.*,
        list_filter(
            [
                case when looked.outcome in ('scorer_error', 'judge_error') then looked.outcome end,
                case
                    when looked.needs_target and (looked.outcome = 'no_target' or is_blank(looked.target))
                        then 'empty_target'
                end,
                case when looked.is_in_last_line then 'target_in_last_line' end,
                case when looked.disagrees_with is not null then 'scorers_disagree' end,
                case when looked.is_in_text and not looked.is_in_last_line then 'target_in_text' end,
                case when looked.outcome = 'unparsed' then 'unparsed' end,
                case when looked.stop_reason = 'length' then 'truncated' end
            ],
            lambda reason: reason is not null
        ) as reasons
    from looked
)

select
    suspected.run_id,
    suspected.task,
    suspected.model,
    suspected.prompt,
    suspected.sample_id,
    suspected.epoch,
    suspected.scorer,
    suspected.metric,
    suspected.reasons[1] as reason,
    suspected.reasons,
    suspected.score,
    suspected.outcome,
    suspected.target,
    suspected.extracted,
    suspected.disagrees_with,
    question_of(suspected.messages, suspected.sample) as question,
    suspected.response,
    suspected.stop_reason,
    suspected.detail,
    suspected.category,
    suspected.sample
from suspected
where len(suspected.reasons) > 0
order by
    suspected.run_id desc,
    list_position(
        [
            'scorer_error',
            'judge_error',
            'empty_target',
            'target_in_last_line',
            'scorers_disagree',
            'target_in_text',
            'unparsed',
            'truncated'
        ],
        suspected.reasons[1]
    ) asc,
    suspected.scorer asc,
    suspected.metric asc,
    suspected.model asc,
    suspected.prompt asc,
    suspected.sample_id asc,
    suspected.epoch asc;

comment on view audit is 'Grades that are worth a second look: likely mistakes of the grading rather than of the model.';
comment on column audit.run_id is 'Run.';
comment on column audit.task is 'Name of the spec.';
comment on column audit.model is 'Display name of the model.';
comment on column audit.prompt is 'Name of the prompt.';
comment on column audit.sample_id is 'Sample, unique in its dataset.';
comment on column audit.epoch is 'Repeat number, from 1.';
comment on column audit.scorer is 'Name of the scorer.';
comment on column audit.metric is 'Metric of the scorer.';
comment on column audit.reason is 'The most telling of scorer_error, judge_error, empty_target, target_in_last_line, scorers_disagree, target_in_text, unparsed, truncated.';
comment on column audit.reasons is 'All reasons that hold, in that order. A missing label, or an answer that a judge compares with nothing, is no empty_target.';
comment on column audit.score is 'Score as it counts.';
comment on column audit.outcome is 'scored, or why not.';
comment on column audit.target is 'Target as text; a JSON list where any of several is right.';
comment on column audit.extracted is 'What was compared with the target; NULL if nothing was found.';
comment on column audit.disagrees_with is 'Scorers of the task that say yes or no, and of this answer the other; NULL if none. Measures such as f1 or bleu, and scores between 0 and 1, are not compared.';
comment on column audit.question is 'Last message of the prompt, else the dataset row.';
comment on column audit.response is 'Text of the answer; NULL if there is none.';
comment on column audit.stop_reason is 'Why the model stopped.';
comment on column audit.detail is 'What the scorer says of it.';
comment on column audit.category is 'Value of the category column; NULL if none.';
comment on column audit.sample is 'The dataset row as JSON.';
