-- Columns of a view or table, with what each says.
-- One row per column of $name, in order.
-- NULL where nothing is said.
-- Source: DuckDB's catalog.
select
    columns.column_name as name,
    columns.data_type as type,
    columns.comment as says
from duckdb_columns() as columns
where
    columns.table_name = $name
    and not columns.internal
order by columns.column_index asc
