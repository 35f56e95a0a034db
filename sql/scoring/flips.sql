-- Grades that would change: the relation `new_score` against the newest stored grades of the same scorer name.
-- One row per trial x metric whose score, outcome or extraction differs.
-- NULL old_* means that the trial was not graded before under this name.
-- Source: counting only; `change` is fixed, broken, up, down, outcome, extraction, or pending where a judge is to be asked.
with old_score as (
    select
        graded.model,
        graded.prompt,
        graded.sample_id,
        graded.epoch,
        graded.metric,
        graded.raw_score as score,
        graded.raw_is_pass as is_pass,
        graded.outcome,
        graded.extracted
    from graded
    where
        graded.run_id = $run_id
        and graded.scorer = $scorer
)

select
    $run_id as run_id,
    $scorer as scorer,
    new_score.metric,
    new_score.model,
    new_score.prompt,
    new_score.sample_id,
    new_score.epoch,
    new_score.target,
    old_score.extracted as old_extracted,
    new_score.extracted as new_extracted,
    old_score.outcome as old_outcome,
    new_score.outcome as new_outcome,
    old_score.score as old_score,
    new_score.score as new_score,
    case
        when new_score.outcome = 'pending' and (old_score.outcome is distinct from 'pending') then 'pending'
        when new_score.is_pass and not coalesce(old_score.is_pass, false) then 'fixed'
        when old_score.is_pass and not coalesce(new_score.is_pass, false) then 'broken'
        when new_score.score > old_score.score then 'up'
        when new_score.score < old_score.score then 'down'
        when (new_score.outcome is distinct from old_score.outcome) then 'outcome'
        else 'extraction'
    end as change
from new_score
left join old_score
    on new_score.model = old_score.model
    and new_score.prompt = old_score.prompt
    and new_score.sample_id = old_score.sample_id
    and new_score.epoch = old_score.epoch
    and new_score.metric = old_score.metric
where
    old_score.score is distinct from new_score.score
    or old_score.outcome is distinct from new_score.outcome
    or old_score.extracted is distinct from new_score.extracted
order by
    new_score.model asc,
    new_score.prompt asc,
    new_score.sample_id asc,
    new_score.epoch asc,
    new_score.metric asc
