-- Names that the shell completes.
-- One row per column of a view or table (column NULL for the view itself) and per macro.
-- kind is relation, column, table_macro or macro; for a macro, name is its own and column NULL.
-- Source: DuckDB's catalog; `$macros` are those that are meant for users.
select
    'relation' as kind,
    tables.table_name as name,
    null as column_name
from information_schema.tables as tables
where
    list_contains($relations, tables.table_name)

union all

select
    'column' as kind,
    columns.table_name as name,
    columns.column_name
from duckdb_columns() as columns
where
    list_contains($relations, columns.table_name)
    and not columns.internal

union all

select distinct
    functions.function_type as kind,
    functions.function_name as name,
    null as column_name
from duckdb_functions() as functions
where
    list_contains($macros, functions.function_name)
    and functions.function_type in ('macro', 'table_macro')
order by kind asc, name asc, column_name asc
