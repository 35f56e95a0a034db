-- Arguments of the macros that give rows.
-- One row per name.
-- Never NULL.
-- Source: DuckDB's catalog.
select
    functions.function_name as name,
    any_value(functions.parameters) as arguments
from duckdb_functions() as functions
where
    functions.function_type = 'table_macro'
    and not functions.internal
group by functions.function_name
order by name asc
