-- Trials of an entrant in a run, counted.
-- One row per (run_id, model, prompt).
-- Tokens and milliseconds are those of the calls that brought the answers, hits included; NULL where none is known.
-- Source: trials; percentiles by linear interpolation.
create or replace view entrant_totals as
select
    trials.run_id,
    trials.task,
    trials.model,
    trials.prompt,
    min(trials.model_id) as model_id,
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
    cast(sum(trials.reasoning_tokens) as bigint) as reasoning_tokens,
    quantile_cont(trials.latency_ms, 0.5) as latency_p50_ms,
    quantile_cont(trials.latency_ms, 0.95) as latency_p95_ms,
    list_sort(
        list(distinct trials.served_model) filter (where trials.served_model is not null)
    ) as served_models,
    min(trials.response_run_id) as oldest_response_run_id
from trials
group by
    trials.run_id,
    trials.task,
    trials.model,
    trials.prompt;
