-- Models of each run with what identifies them to their provider.
-- One row per (run_id, model).
-- NULL where the spec says nothing; base_url may hold `${NAME}`, never a key.
-- Source: the `models` of runs/<run_id>.json.
create or replace table run_models as
-- few lists are different, and to read JSON is what takes long
with listed as (
    select distinct manifests.models
    from manifests
),

entry as (
    select
        listed.models,
        unnest(
            from_json(
                listed.models,
                '[{
                    "model": "VARCHAR", "model_id": "VARCHAR", "provider": "VARCHAR", "name": "VARCHAR",
                    "params": "JSON", "revision": "VARCHAR", "endpoint": "VARCHAR", "base_url": "VARCHAR"
                }]'
            )
        ) as model
    from listed
)

select
    manifests.run_id,
    entry.model.model as model,
    entry.model.model_id as model_id,
    entry.model.provider as provider,
    entry.model.name as name,
    entry.model.params as params,
    entry.model.revision as revision,
    entry.model.endpoint as endpoint,
    entry.model.base_url as base_url
from manifests
inner join entry
    on manifests.models = entry.models;

comment on table run_models is 'Models of each run with what identifies them to their provider.';
comment on column run_models.run_id is 'Run.';
comment on column run_models.model is 'Display name on boards.';
comment on column run_models.model_id is 'Identity of the model with its parameters.';
comment on column run_models.provider is 'Provider that is asked.';
comment on column run_models.name is 'The provider''s name for the model.';
comment on column run_models.params is 'JSON object of the parameters sent.';
comment on column run_models.revision is 'Revision that the spec states; NULL if none.';
comment on column run_models.endpoint is 'The user''s name for the server; NULL if none.';
comment on column run_models.base_url is 'Address of the server; NULL for the vendor''s own.';
