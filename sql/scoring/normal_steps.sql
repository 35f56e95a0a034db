-- Says which steps both sides of a comparison take, in SQL.
-- No rows.
-- Never NULL.
-- Source: $is_lower, $is_collapsed and $is_stripped, the truth values of `normal_text`.
set variable normal_steps = {
    'is_lower': $is_lower::boolean,
    'is_collapsed': $is_collapsed::boolean,
    'is_stripped': $is_stripped::boolean
}
