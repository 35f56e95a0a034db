-- Whether an outcome means that the model gave no gradable answer.
-- A boolean.
-- NULL for NULL.
-- Source: the closed list of outcomes.
create or replace macro is_unanswered(outcome) as
outcome in ('truncated', 'refused', 'filtered', 'over_context', 'empty', 'unparsed');
