-- Whether an outcome means that something other than the model failed, so that there is no grade.
-- A boolean.
-- NULL for NULL.
-- Source: the closed list of outcomes.
create or replace macro is_failure(outcome) as
outcome in ('provider_error', 'judge_error', 'scorer_error');
