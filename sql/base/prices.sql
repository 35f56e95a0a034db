-- Prices of models, dated.
-- One row per (provider, model, valid_from): the price holds until the next row of the model.
-- US dollars per million tokens, by kind; a model without a row has no known price.
-- Source: the user's prices.yaml, else the package genai-prices; `source` says which.
create or replace view prices as
select
    stored.body ->> '$.provider' as provider,
    stored.body ->> '$.model' as model,
    cast(stored.body ->> '$.valid_from' as date) as valid_from,
    cast(stored.body ->> '$.input_usd_per_mtok' as decimal(18, 9)) as input_usd_per_mtok,
    cast(stored.body ->> '$.cache_read_usd_per_mtok' as decimal(18, 9)) as cache_read_usd_per_mtok,
    cast(stored.body ->> '$.cache_write_usd_per_mtok' as decimal(18, 9)) as cache_write_usd_per_mtok,
    cast(stored.body ->> '$.output_usd_per_mtok' as decimal(18, 9)) as output_usd_per_mtok,
    stored.body ->> '$.source' as source
from stored_prices as stored;

comment on view prices is 'Prices of models, dated.';
comment on column prices.provider is 'Provider, as in a spec.';
comment on column prices.model is 'The provider''s name for the model.';
comment on column prices.valid_from is 'Day from which the price holds, UTC.';
comment on column prices.input_usd_per_mtok is 'US dollars per million uncached input tokens.';
comment on column prices.cache_read_usd_per_mtok is 'US dollars per million input tokens read from the cache.';
comment on column prices.cache_write_usd_per_mtok is 'US dollars per million input tokens written to the cache.';
comment on column prices.output_usd_per_mtok is 'US dollars per million output tokens.';
comment on column prices.source is 'Where the price comes from.';
