-- What the answers of an entrant in a run cost at list price, whoever paid for them.
-- One row per (run_id, model, prompt) whose model has a price; mock and replay cost 0, whatever tokens they name.
-- US dollars; NULL where there was no price yet on the day, or an answer came without token counts.
-- Source: tokens of trials by day x `prices` of that day.
create or replace view entrant_costs as
with priced_model as (
    select
        run_models.run_id,
        run_models.model,
        run_models.provider,
        run_models.name
    from run_models
    semi join prices
        on run_models.provider = prices.provider
        and run_models.name = prices.model
    where not is_free(run_models.provider)
),

free as (
    select
        run_models.run_id,
        run_models.model,
        unnest(json_keys(manifests.prompts)) as prompt
    from run_models
    inner join manifests
        on run_models.run_id = manifests.run_id
    where is_free(run_models.provider)
),

daily as (
    select
        trials.run_id,
        trials.model,
        trials.prompt,
        cast(trials.ended_at as date) as day,
        trials.is_hit,
        sum(trials.input_tokens) as input_tokens,
        sum(trials.cache_read_tokens) as cache_read_tokens,
        sum(trials.cache_write_tokens) as cache_write_tokens,
        sum(trials.output_tokens) as output_tokens,
        count(*) as n_answered,
        count(*) filter (
            where trials.input_tokens is null and trials.output_tokens is null
        ) as n_without_usage
    from trials
    semi join priced_model
        on trials.run_id = priced_model.run_id
        and trials.model = priced_model.model
    where trials.status = 'answered'
    group by
        trials.run_id,
        trials.model,
        trials.prompt,
        day,
        trials.is_hit
),

named as (
    select
        daily.*,
        priced_model.provider,
        priced_model.name
    from daily
    inner join priced_model
        on daily.run_id = priced_model.run_id
        and daily.model = priced_model.model
),

priced as (
    select
        named.run_id,
        named.model,
        named.prompt,
        named.is_hit,
        named.n_answered,
        named.n_without_usage,
        case
            when prices.model is not null
                then token_cost_usd(
                    named.input_tokens,
                    named.cache_read_tokens,
                    named.cache_write_tokens,
                    named.output_tokens,
                    prices.input_usd_per_mtok,
                    prices.cache_read_usd_per_mtok,
                    prices.cache_write_usd_per_mtok,
                    prices.output_usd_per_mtok
                )
        end as cost_usd
    from named
    asof left join prices
        on named.provider = prices.provider
        and named.name = prices.model
        and named.day >= prices.valid_from
)

select
    priced.run_id,
    priced.model,
    priced.prompt,
    cast(sum(priced.n_without_usage) as bigint) as n_without_usage,
    case
        when bool_and(priced.cost_usd is not null) and sum(priced.n_without_usage) = 0
            then cast(sum(priced.cost_usd) as decimal(18, 9))
    end as cost_usd,
    case
        when bool_and(priced.cost_usd is not null) and sum(priced.n_without_usage) = 0
            then cast(coalesce(sum(priced.cost_usd) filter (where priced.is_hit), 0) as decimal(18, 9))
    end as saved_usd
from priced
group by
    priced.run_id,
    priced.model,
    priced.prompt
union all
select
    free.run_id,
    free.model,
    free.prompt,
    0 as n_without_usage,
    cast(0 as decimal(18, 9)) as cost_usd,
    cast(0 as decimal(18, 9)) as saved_usd
from free;
