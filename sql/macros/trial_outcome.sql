-- Outcome of a trial that has no grade: why it has none yet, or will never have one.
-- A word of the closed list of outcomes.
-- `pending` for an answered trial, which only waits for its grade.
-- Source: status and error_type of the trial.
create or replace macro trial_outcome(status, error_type) as
case
    when status = 'error' and error_type in ('over_context', 'filtered') then error_type
    when status = 'error' then 'provider_error'
    when status = 'skipped' then 'skipped'
    else 'pending'
end;
