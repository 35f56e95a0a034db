-- What the judges of an entrant of a board cost at list price, whoever paid for their answers.
-- One row per (run_id, model, prompt) that a judge graded by a current definition.
-- US dollars: what the provider billed, else tokens at the price of the day; mock and replay cost 0. NULL where one is not known.
-- Source: the judge answers behind the grades, the newest call that brought each, and prices; failed attempts cost nothing.
create or replace view judge_costs as
with judged as (
    select distinct
        scores.run_id,
        scores.model,
        scores.prompt,
        scores.sample_id,
        scores.epoch,
        unnest(scores.judge_response_ids) as response_id
    from scores
    inner join definitions
        on scores.task = definitions.task
        and scores.scorer_id = definitions.scorer_id
        and definitions.is_current
    where
        scores.run_id in board_run_ids()
        and scores.judge_response_ids is not null
),

call as (
    select
        calls.response_id,
        calls.provider,
        calls.model,
        calls.input_tokens,
        calls.cache_read_tokens,
        calls.cache_write_tokens,
        calls.output_tokens,
        calls.billed_usd,
        cast(calls.started_at as date) as day
    from calls
    semi join judged
        on calls.response_id = judged.response_id
    where calls.role = 'judge'
    qualify row_number() over (
        partition by calls.response_id
        order by
            calls.started_at desc,
            calls.call_id asc
    ) = 1
),

priced as (
    select
        call.response_id,
        coalesce(
            cast(call.billed_usd as decimal(38, 15)),
            case
                when is_free(call.provider) then 0
                when prices.model is not null
                    then token_cost_usd(
                        call.input_tokens,
                        call.cache_read_tokens,
                        call.cache_write_tokens,
                        call.output_tokens,
                        prices.input_usd_per_mtok,
                        prices.cache_read_usd_per_mtok,
                        prices.cache_write_usd_per_mtok,
                        prices.output_usd_per_mtok
                    )
            end
        ) as cost_usd
    from call
    asof left join prices
        on call.provider = prices.provider
        and call.model = prices.model
        and call.day >= prices.valid_from
)

select
    judged.run_id,
    judged.model,
    judged.prompt,
    count(*) as n_answers,
    case
        when count(priced.cost_usd) = count(*) then cast(sum(priced.cost_usd) as decimal(18, 9))
    end as cost_usd
from judged
left join priced
    on judged.response_id = priced.response_id
group by
    judged.run_id,
    judged.model,
    judged.prompt;
