-- The functions that DuckDB has.
-- One row per (name, kind, whether it is volatile).
-- is_volatile is false for macros, of which DuckDB says nothing.
-- Source: the catalog.
select distinct
    lower(duckdb_functions.function_name) as name,
    duckdb_functions.function_type as kind,
    coalesce(duckdb_functions.stability = 'VOLATILE', false) as is_volatile
from duckdb_functions()
