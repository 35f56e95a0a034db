-- Every run: what was asked, with what, and what came of it.
-- One row per run_id.
-- mean is that of the primary scorer over all entrants, each weighed once; US dollars; seconds; NULL means not known.
-- Source: manifests; trials, grades and calls counted.
create or replace view runs as
with trial_total as (
    select
        trials.run_id,
        count(*) as n_trials,
        count(*) filter (where trials.status = 'answered') as n_answered,
        count(*) filter (where trials.status = 'error') as n_failed,
        count(*) filter (where trials.status in ('pending', 'skipped')) as n_pending,
        count(*) filter (where trials.stop_reason = 'length') as n_truncated,
        count(*) filter (where trials.is_hit) as n_hits,
        cast(sum(trials.input_tokens) as bigint) as input_tokens,
        cast(sum(trials.cache_read_tokens) as bigint) as cache_read_tokens,
        cast(sum(trials.cache_write_tokens) as bigint) as cache_write_tokens,
        cast(sum(trials.output_tokens) as bigint) as output_tokens,
        list_sort(
            list(distinct trials.served_model) filter (where trials.served_model is not null)
        ) as served_models
    from trials
    group by trials.run_id
),

grade_total as (
    select
        run_scores.run_id,
        min(run_scores.scorer) as scorer,
        exact_sum(run_scores.mean) / nullif(count(run_scores.mean), 0) as mean,
        cast(sum(run_scores.n_errors) as bigint) as n_errors
    from run_scores
    where
        run_scores.is_primary
        and run_scores.metric = 'score'
    group by run_scores.run_id
),

call_total as (
    select
        call_costs.run_id,
        case
            when count(*) filter (where call_costs.status = 'ok' and call_costs.cost_usd is null) = 0
                then cast(coalesce(sum(call_costs.cost_usd), 0) as decimal(18, 9))
        end as paid_usd,
        case
            when count(*) filter (
                where call_costs.role = 'judge' and call_costs.status = 'ok' and call_costs.cost_usd is null
            ) = 0
                then cast(
                    coalesce(sum(call_costs.cost_usd) filter (where call_costs.role = 'judge'), 0)
                    as decimal(18, 9)
                )
        end as judge_usd
    from call_costs
    group by call_costs.run_id
),

model_list as (
    select
        run_models.run_id,
        list(run_models.model order by run_models.model asc) as models
    from run_models
    group by run_models.run_id
)

select
    manifests.run_id,
    manifests.task,
    manifests.tags,
    case
        when manifests.status = 'running' and manifests.run_id not in running_run_ids() then 'interrupted'
        else manifests.status
    end as status,
    manifests.aborted_reason,
    model_list.models,
    json_keys(manifests.prompts) as prompts,
    json_keys(manifests.scorers) as scorers,
    trial_total.served_models,
    grade_total.mean,
    grade_total.n_errors,
    manifests.n_samples,
    manifests.n_selected_of,
    manifests.epochs,
    trial_total.n_trials,
    trial_total.n_answered,
    trial_total.n_failed,
    trial_total.n_pending,
    trial_total.n_truncated,
    trial_total.n_hits,
    trial_total.input_tokens,
    trial_total.cache_read_tokens,
    trial_total.cache_write_tokens,
    trial_total.output_tokens,
    case
        when call_total.run_id is not null then call_total.paid_usd
        when trial_total.run_id is not null then 0
    end as paid_usd,
    case
        when call_total.run_id is not null then call_total.judge_usd
        when trial_total.run_id is not null then 0
    end as judge_usd,
    manifests.elapsed_s,
    manifests.started_at,
    manifests.ended_at,
    manifests.is_limited,
    manifests.is_refresh,
    manifests.seed,
    manifests.selection,
    manifests.unanswered,
    manifests.spec_id,
    manifests.plan_id,
    manifests.dataset_id,
    manifests.git_sha,
    manifests.is_git_dirty,
    manifests.versions,
    manifests.host,
    manifests.description
from manifests
left join model_list
    on manifests.run_id = model_list.run_id
left join trial_total
    on manifests.run_id = trial_total.run_id
left join grade_total
    on manifests.run_id = grade_total.run_id
left join call_total
    on manifests.run_id = call_total.run_id
order by
    manifests.started_at desc nulls last,
    manifests.run_id desc;

comment on view runs is 'Every run: what was asked, with what, and what came of it.';
comment on column runs.run_id is 'Identity of the run: time, name and six hex digits.';
comment on column runs.task is 'Name of the spec.';
comment on column runs.tags is 'Tags given to the run; an empty list if none.';
comment on column runs.status is 'running, complete, incomplete, aborted or interrupted.';
comment on column runs.aborted_reason is 'Why the run was aborted; NULL otherwise.';
comment on column runs.models is 'Display names of the models.';
comment on column runs.prompts is 'Names of the prompts.';
comment on column runs.scorers is 'Names of the scorers when the run was made.';
comment on column runs.served_models is 'Model names that the providers reported.';
comment on column runs.mean is 'Mean of the primary scorer over the entrants, each weighed once; NULL if nothing is graded.';
comment on column runs.n_errors is 'Trials without a primary grade because something failed.';
comment on column runs.n_samples is 'Samples selected.';
comment on column runs.n_selected_of is 'Samples in the whole dataset.';
comment on column runs.epochs is 'Times that each sample is asked.';
comment on column runs.n_trials is 'Trials planned.';
comment on column runs.n_answered is 'Trials answered.';
comment on column runs.n_failed is 'Trials whose calls failed.';
comment on column runs.n_pending is 'Trials that wait or were skipped.';
comment on column runs.n_truncated is 'Answers that the token limit cut off.';
comment on column runs.n_hits is 'Trials that a stored answer served.';
comment on column runs.input_tokens is 'Uncached input tokens of the answers, hits included.';
comment on column runs.cache_read_tokens is 'Input tokens read from the providers'' caches.';
comment on column runs.cache_write_tokens is 'Input tokens written to the providers'' caches.';
comment on column runs.output_tokens is 'Output tokens of the answers, hits included.';
comment on column runs.paid_usd is 'What the run''s calls cost, judges included; NULL if not known.';
comment on column runs.judge_usd is 'What of that the judges cost; NULL if not known.';
comment on column runs.elapsed_s is 'Seconds, summed over all invocations.';
comment on column runs.started_at is 'Start of the first invocation, UTC.';
comment on column runs.ended_at is 'End of the last invocation, UTC; NULL while it runs.';
comment on column runs.is_limited is 'Whether the command narrowed the samples.';
comment on column runs.is_refresh is 'Whether the run takes only answers newer than its start.';
comment on column runs.seed is 'Seed of the selection; NULL if nothing was drawn.';
comment on column runs.selection is 'JSON object: limit, sample, seed, cases, where.';
comment on column runs.unanswered is 'Policy for unanswered trials when the run was made.';
comment on column runs.spec_id is 'Identity of everything that can change a number.';
comment on column runs.plan_id is 'Identity of task, prompts, request block and selection.';
comment on column runs.dataset_id is 'Identity of the whole dataset.';
comment on column runs.git_sha is 'Commit of the checkout that holds the spec; NULL outside of one.';
comment on column runs.is_git_dirty is 'Whether tracked files of it were changed.';
comment on column runs.versions is 'JSON object: package to version.';
comment on column runs.host is 'Host that generated.';
comment on column runs.description is 'The spec''s own description; NULL if it has none.';
