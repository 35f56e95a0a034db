-- What calls of each asked model have used so far, as a subject or as a judge.
-- One row per (provider, model) of the relation `asked_model` that has calls with known usage.
-- Tokens of one call; NULL deviation for a single call. Calls of the same task are preferred where there are any.
-- Source: the stored table calls; mean and sample standard deviation.
with used as (
    select
        calls.provider,
        calls.model,
        coalesce(calls.input_tokens, 0) + coalesce(calls.cache_read_tokens, 0)
        + coalesce(calls.cache_write_tokens, 0) as input_tokens,
        calls.output_tokens,
        coalesce(calls.cache_write_tokens, 0) > 0 as is_cache_filled,
        manifests.task = $task as is_of_task
    from calls
    inner join asked_model
        on calls.provider = asked_model.provider
        and calls.model = asked_model.model
    left join manifests
        on calls.run_id = manifests.run_id
    where
        calls.status = 'ok'
        and calls.role = $role
        and calls.input_tokens is not null
        and calls.output_tokens is not null
),

preferred as (
    select used.*
    from used
    qualify used.is_of_task or not bool_or(used.is_of_task) over (
        partition by used.provider, used.model
    )
)

select
    preferred.provider,
    preferred.model,
    count(*) as n,
    avg(preferred.input_tokens) as input_mean,
    stddev_samp(preferred.input_tokens) as input_deviation,
    avg(preferred.output_tokens) as output_mean,
    stddev_samp(preferred.output_tokens) as output_deviation,
    bool_or(preferred.is_cache_filled) as fills_cache
from preferred
group by
    preferred.provider,
    preferred.model
