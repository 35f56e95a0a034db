-- What a grade counts in a mean.
-- The score if there is one; what an unanswered trial counts, if the model gave no gradable answer.
-- NULL leaves the trial out of the denominator.
-- Source: the policy of `definitions`.
create or replace macro counted_score(score, outcome, unanswered_score) as
case
    when score is not null then score
    when is_unanswered(outcome) then unanswered_score
end;
