-- Money that each run spent, and what stored answers saved.
-- One row per (run_id, model, prompt, role): the entrant, and whether it answered or was judged.
-- US dollars; NULL where a successful call has no known cost: its model is named, or its reply had no token counts.
-- Source: calls at billed or listed prices; a failed attempt without token counts costs nothing that is known.
create or replace view costs as
with paid as (
    select
        call_costs.run_id,
        call_costs.model,
        call_costs.prompt,
        call_costs.role,
        count(*) as n_calls,
        count(*) filter (where call_costs.status = 'error') as n_failed,
        count(*) filter (where call_costs.status = 'ok' and call_costs.cost_usd is null) as n_unknown,
        count(*) filter (where call_costs.status = 'ok' and not call_costs.has_usage) as n_without_usage,
        sum(call_costs.cost_usd) as known_usd,
        sum(call_costs.cost_usd) filter (where call_costs.status = 'error') as failed_usd,
        list_sort(
            list(distinct call_costs.provider || '/' || call_costs.provider_model) filter (
                where call_costs.cost_usd is null and call_costs.status = 'ok' and not call_costs.is_priced
            )
        ) as unpriced_models
    from call_costs
    group by
        call_costs.run_id,
        call_costs.model,
        call_costs.prompt,
        call_costs.role
),

hit as (
    select
        trials.run_id,
        trials.model,
        trials.prompt,
        'subject' as role,
        count(*) as n_hits
    from trials
    where trials.is_hit
    group by
        trials.run_id,
        trials.model,
        trials.prompt
),

joined as (
    select
        coalesce(paid.run_id, hit.run_id) as run_id,
        coalesce(paid.model, hit.model) as model,
        coalesce(paid.prompt, hit.prompt) as prompt,
        coalesce(paid.role, hit.role) as role,
        coalesce(paid.n_calls, 0) as n_calls,
        coalesce(paid.n_failed, 0) as n_failed,
        coalesce(paid.n_unknown, 0) as n_unknown,
        coalesce(paid.n_without_usage, 0) as n_without_usage,
        coalesce(paid.known_usd, 0) as known_usd,
        coalesce(paid.failed_usd, 0) as failed_usd,
        coalesce(paid.unpriced_models, []) as unpriced_models,
        coalesce(hit.n_hits, 0) as n_hits
    from paid
    full outer join hit
        on paid.run_id = hit.run_id
        and paid.model = hit.model
        and paid.prompt = hit.prompt
        and paid.role = hit.role
)

select
    joined.run_id,
    manifests.task,
    joined.model,
    joined.prompt,
    joined.role,
    joined.n_calls,
    joined.n_failed,
    joined.n_hits,
    case when joined.n_unknown = 0 then cast(joined.known_usd as decimal(18, 9)) end as paid_usd,
    cast(joined.known_usd as decimal(18, 9)) as known_usd,
    cast(joined.failed_usd as decimal(18, 9)) as failed_usd,
    case
        when joined.role = 'subject'
            then case when joined.n_hits = 0 then cast(0 as decimal(18, 9)) else entrant_costs.saved_usd end
    end as saved_usd,
    joined.n_unknown,
    joined.n_without_usage,
    joined.unpriced_models
from joined
left join manifests
    on joined.run_id = manifests.run_id
left join entrant_costs
    on joined.run_id = entrant_costs.run_id
    and joined.model = entrant_costs.model
    and joined.prompt = entrant_costs.prompt
    and joined.role = 'subject'
order by
    joined.run_id asc,
    joined.model asc nulls last,
    joined.prompt asc nulls last,
    joined.role desc;

comment on view costs is 'Money that each run spent, and what stored answers saved.';
comment on column costs.run_id is 'Run.';
comment on column costs.task is 'Name of the spec.';
comment on column costs.model is 'Entrant''s model by its display name; NULL for calls that belong to no trial.';
comment on column costs.prompt is 'Entrant''s prompt; NULL for calls that belong to no trial.';
comment on column costs.role is 'subject (answers of the entrant) or judge (grades of its answers).';
comment on column costs.n_calls is 'Calls made, failed attempts included.';
comment on column costs.n_failed is 'Failed attempts.';
comment on column costs.n_hits is 'Trials that a stored answer served.';
comment on column costs.paid_usd is 'What the calls cost; NULL if a successful call has no known cost.';
comment on column costs.known_usd is 'What the calls with a known cost cost.';
comment on column costs.failed_usd is 'Part of it for failed attempts.';
comment on column costs.saved_usd is 'What the stored answers would cost now; NULL if not known, and for judges.';
comment on column costs.n_unknown is 'Successful calls without a known cost.';
comment on column costs.n_without_usage is 'Successful calls without token counts.';
comment on column costs.unpriced_models is 'Models without a price, as provider/model.';
