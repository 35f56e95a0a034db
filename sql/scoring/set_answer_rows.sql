-- Says which answers are in the stretch of a run that is graded.
-- No rows.
-- Never NULL.
-- Source: a row of the query `stretches`.
set variable answer_rows = { 'file': $file::varchar, 'begin': $begin::bigint, 'until': $until::bigint }
