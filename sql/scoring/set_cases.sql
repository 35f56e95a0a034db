-- Says which cases a switch has.
-- No rows.
-- Never NULL.
-- Source: $value.
set variable grading_cases = $value::varchar[]
