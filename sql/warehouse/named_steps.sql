-- What DuckDB's parser finds in the text of a query: its error, and what its named steps (`with x as (...)`) are.
-- One row.
-- kinds: node types such as SELECT_NODE or COPY_QUERY_NODE, a list, empty without steps; error: NULL if there is none.
-- Source: the parser. A step may be a COPY, which writes a file although the whole is a SELECT.
select
    json_extract_string(parsed.tree, '$.error_message') as error,
    json_extract_string(parsed.tree, '$..query_node.type') as kinds
from (select json_serialize_sql($query) as tree) as parsed
