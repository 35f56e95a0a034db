-- Rows of `verdict` that Python found to be right after all.
-- One row per row.
-- score becomes 1.
-- Source: a list of rows.
update verdict
set score = 1
where verdict.row in (select unnest($rows::bigint[]))
