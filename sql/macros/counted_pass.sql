-- Whether a grade passes, as it counts.
-- A boolean; an unanswered trial that counts as the worst score does not pass.
-- NULL where nothing counts, or where the scorer has no threshold.
-- Source: the policy of `definitions`.
create or replace macro counted_pass(score, is_pass, outcome, unanswered_score, pass_threshold) as
case
    when score is not null then is_pass
    when is_unanswered(outcome) and unanswered_score is not null and pass_threshold is not null then false
end;
