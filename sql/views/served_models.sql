-- Which model answered when: what was asked for, and what the provider says it served.
-- One row per (provider, model, served_model), over all runs.
-- Times in UTC, of receiving an answer; NULL served_model: the provider did not say. Stored answers count once.
-- Source: responses, of subjects and judges; counting only.
create or replace view served_models as
with served as (
    select
        responses.provider,
        responses.model,
        responses.served_model,
        min(responses.created_at) as first_seen_at,
        max(responses.created_at) as last_seen_at,
        count(*) as n_answers,
        count(distinct responses.run_id) as n_runs,
        arg_min(responses.run_id, (responses.created_at, responses.run_id)) as first_run_id,
        arg_max(responses.run_id, (responses.created_at, responses.run_id)) as last_run_id
    from responses
    where is_by_then(responses.run_id)
    group by
        responses.provider,
        responses.model,
        responses.served_model
)

select
    served.provider,
    served.model,
    served.served_model,
    served.n_answers,
    served.n_runs,
    served.first_seen_at,
    served.last_seen_at,
    served.last_seen_at = max(served.last_seen_at) over (
        partition by served.provider, served.model
    ) as is_newest,
    count(*) over (
        partition by served.provider, served.model
    ) as n_served_models,
    served.first_run_id,
    served.last_run_id
from served
order by
    served.provider asc,
    served.model asc,
    served.first_seen_at asc,
    served.served_model asc nulls last;

comment on view served_models is 'Which model answered when: what was asked for, and what the provider says it served.';
comment on column served_models.provider is 'Provider that was asked.';
comment on column served_models.model is 'Model name as requested from the provider.';
comment on column served_models.served_model is 'Model name that the provider reported; NULL if it did not.';
comment on column served_models.n_answers is 'Answers received, each once however often it was used.';
comment on column served_models.n_runs is 'Runs that paid for them.';
comment on column served_models.first_seen_at is 'When the first of them was received, UTC.';
comment on column served_models.last_seen_at is 'When the last of them was received, UTC.';
comment on column served_models.is_newest is 'Whether no other served model answered later for the requested one.';
comment on column served_models.n_served_models is 'Different served models of the requested one; above 1, its answers are a mixture.';
comment on column served_models.first_run_id is 'Run that received the first.';
comment on column served_models.last_run_id is 'Run that received the last.';
