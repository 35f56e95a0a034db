-- Models of each run with what identifies them to their provider.
-- One row per (run_id, model).
-- NULL where the spec says nothing; base_url may hold `${NAME}`, never a key.
-- Source: the `models` of runs/<run_id>.json.
create or replace table run_models as
with listed as (
    select
        stored.body ->> '$.run_id' as run_id,
        unnest(
            from_json(
                stored.body -> '$.models',
                '[{
                    "model": "VARCHAR", "model_id": "VARCHAR", "provider": "VARCHAR", "name": "VARCHAR",
                    "params": "JSON", "revision": "VARCHAR", "endpoint": "VARCHAR", "base_url": "VARCHAR"
                }]'
            )
        ) as entry
    from stored_manifests as stored
)

select
    listed.run_id,
    listed.entry.model as model,
    listed.entry.model_id as model_id,
    listed.entry.provider as provider,
    listed.entry.name as name,
    listed.entry.params as params,
    listed.entry.revision as revision,
    listed.entry.endpoint as endpoint,
    listed.entry.base_url as base_url
from listed;

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
