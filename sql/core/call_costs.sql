-- Calls with what each cost and the entrant that it was made for.
-- One row per call_id.
-- US dollars: what the provider billed, else tokens at the price of the day; mock and replay cost 0. NULL: not known.
-- Source: calls and prices; a subject's call belongs to its request's trial, a judge's to the trial that it graded.
create or replace view call_costs as
with subject as (
    select
        trials.run_id,
        trials.request_key,
        min((trials.model, trials.prompt)) as entrant
    from trials
    where trials.request_key is not null
    group by
        trials.run_id,
        trials.request_key
),

judgement as (
    select
        scores.run_id,
        unnest(scores.judge_response_ids) as response_id,
        scores.model,
        scores.prompt
    from scores
    where scores.judge_response_ids is not null
),

judge as (
    select
        calls.run_id,
        calls.request_key,
        min((judgement.model, judgement.prompt)) as entrant
    from calls
    inner join judgement
        on calls.run_id = judgement.run_id
        and calls.response_id = judgement.response_id
    where calls.role = 'judge'
    group by
        calls.run_id,
        calls.request_key
),

owned as (
    select
        calls.call_id,
        calls.run_id,
        calls.role,
        calls.status,
        calls.provider,
        calls.model as provider_model,
        coalesce(subject.entrant, judge.entrant) as entrant,
        calls.input_tokens,
        calls.cache_read_tokens,
        calls.cache_write_tokens,
        calls.output_tokens,
        calls.billed_usd,
        cast(calls.started_at as date) as day
    from calls
    left join subject
        on calls.run_id = subject.run_id
        and calls.request_key = subject.request_key
        and calls.role = 'subject'
    left join judge
        on calls.run_id = judge.run_id
        and calls.request_key = judge.request_key
        and calls.role = 'judge'
)

select
    owned.call_id,
    owned.run_id,
    owned.role,
    owned.status,
    owned.provider,
    owned.provider_model,
    owned.entrant[1] as model,
    owned.entrant[2] as prompt,
    prices.model is not null or is_free(owned.provider) as is_priced,
    owned.input_tokens is not null or owned.output_tokens is not null as has_usage,
    coalesce(
        cast(owned.billed_usd as decimal(38, 15)),
        case
            when is_free(owned.provider) then 0
            when prices.model is not null
                then token_cost_usd(
                    owned.input_tokens,
                    owned.cache_read_tokens,
                    owned.cache_write_tokens,
                    owned.output_tokens,
                    prices.input_usd_per_mtok,
                    prices.cache_read_usd_per_mtok,
                    prices.cache_write_usd_per_mtok,
                    prices.output_usd_per_mtok
                )
        end
    ) as cost_usd
from owned
asof left join prices
    on owned.provider = prices.provider
    and owned.provider_model = prices.model
    and owned.day >= prices.valid_from;
