-- Models that runs asked.
-- One row per (provider, name).
-- NULL where a manifest does not say.
-- Source: run_models.
select distinct
    run_models.provider,
    run_models.name
from run_models
order by
    run_models.provider asc,
    run_models.name asc
