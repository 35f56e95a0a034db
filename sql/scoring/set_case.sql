-- Says which case of a switch is graded.
-- No rows.
-- Never NULL.
-- Source: $value.
set variable grading_case = $value::varchar
