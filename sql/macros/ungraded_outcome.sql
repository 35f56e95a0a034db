-- Outcome of a trial whose answer has no score: why it has none.
-- A word of the closed list of outcomes.
-- NULL inputs mean that there is nothing to say; is_blank is NULL where nothing looked at the text.
-- Source: status, error_type and stop_reason of the trial, what went wrong in grading, whether the text is blank;
-- the order of the branches is the order of precedence.
create or replace macro ungraded_outcome(status, error_type, fault, lacks_target, stop_reason, is_blank) as
    case
        when status in ('pending', 'skipped') then status
        when status = 'error' and error_type in ('over_context', 'filtered') then error_type
        when status = 'error' then 'provider_error'
        when fault is not null then 'scorer_error'
        when lacks_target then 'no_target'
        when stop_reason = 'length' then 'truncated'
        when stop_reason = 'refusal' then 'refused'
        when stop_reason = 'filter' then 'filtered'
        when is_blank then 'empty'
        else 'unparsed'
    end;
