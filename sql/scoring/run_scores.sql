-- The scores of all trials of a run by one scorer, but for the columns that are the same in all of them.
-- One row per trial of the run $run_id, in the order in which trials are read.
-- NULL score means that the outcome is not `scored`. $is_rest_blank says that answers are blank which were not judged.
-- Source: the stored table trials, the view `judged`, the tables `noted`, `run_input` and `blank_answer`.
with trial as (
    select
        case
            when trials.status = 'answered'
                then (hash(trials.response_id, trials.sample_id, trials.choice_order) // 2)::bigint
        end as row,
        trials.task,
        trials.model,
        trials.model_id,
        trials.prompt,
        trials.sample_id,
        trials.epoch,
        trials.choice_order,
        trials.response_id,
        trials.status,
        trials.error_type,
        trials.stop_reason,
        case
            when trials.status <> 'answered' then null
            when $source = 'logprobs' then exp(-trials.token_nll / nullif(trials.token_count, 0))
            else trials.confidence
        end as stated
    from trials
    where trials.run_id = $run_id
),

-- what is cut at the end anyway is cut before it is brought beside the trials
judgement as (
    select
        judged.row,
        judged.score,
        left(judged.extracted, 501) as extracted,
        judged.extracted_by,
        left(judged.detail, 501) as detail,
        judged.fault
    from judged
    where judged.score is not null or judged.fault is not null
),

graded as (
    select
        trial.*,
        run_input.target,
        run_input.targets,
        judgement.score,
        judgement.row is not null as is_judged,
        judgement.extracted,
        judgement.extracted_by,
        case
            when judgement.fault is not null then concat_ws('; ', judgement.detail, judgement.fault)
            when judgement.row is not null then judgement.detail
            else nullif(concat_ws('; ', noted.note, noted.fault), '')
        end as reason,
        noted.fault
    from trial
    left join judgement on trial.row = judgement.row
    left join noted on trial.row = noted.row
    left join run_input
        on trial.sample_id = run_input.sample_id
        and trial.choice_order is not distinct from run_input.choice_order
)

select
    graded.task,
    graded.model,
    graded.model_id,
    graded.prompt,
    graded.sample_id,
    graded.epoch,
    graded.response_id,
    graded.target,
    graded.score,
    case
        when $higher_is_better then graded.score >= $threshold
        else graded.score <= $threshold
    end as is_pass,
    case
        when graded.score is not null then 'scored'
        when graded.is_judged then 'scorer_error'
        else ungraded_outcome(
            graded.status,
            graded.error_type,
            graded.fault,
            graded.targets is null and $needs_target,
            graded.stop_reason,
            $is_rest_blank or graded.row in (select blank_answer.row from blank_answer)
        )
    end as outcome,
    shortened(graded.extracted, 500) as extracted,
    graded.extracted_by,
    case when graded.stated between 0 and 1 then graded.stated end as confidence,
    case when graded.stated between 0 and 1 then $source end as confidence_source,
    shortened(
        case
            when graded.stated is null or graded.stated between 0 and 1 then graded.reason
            else concat_ws('; ', graded.reason, 'confidence ' || graded.stated::varchar || ' is outside 0..1')
        end,
        500
    ) as detail
from graded
