-- What a trial would count if everything that is not known had gone as badly, or as well, as it can.
-- What the trial counts, else `bound`, the worst or the best score.
-- NULL for a sample without a target, which can never be graded, and for an unknown trial of an unbounded scorer.
-- Source: the policy of `definitions`.
create or replace macro bound_score(score, outcome, unanswered_score, bound) as
case
    when score is not null then score
    when outcome <> 'no_target'
        then coalesce(case when is_unanswered(outcome) then unanswered_score end, bound)
end;
