-- Says which stretch of a run is graded.
-- No rows.
-- Never NULL.
-- Source: a row of the query `stretches`.
set variable stretch = {
    'trial_file': $trial_file::varchar,
    'trial_begin': $trial_begin::bigint,
    'trial_until': $trial_until::bigint,
    'answer_file': $answer_file::varchar,
    'answer_begin': $answer_begin::bigint,
    'answer_until': $answer_until::bigint
}
