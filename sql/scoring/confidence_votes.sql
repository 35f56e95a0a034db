-- Confidence as the share of an entrant's answers to a sample from which the same was extracted.
-- One row per grade with something extracted, where there are two answers or more.
-- NULL stays where nothing was extracted, or there is one answer alone.
-- Source: the tables `grade` and `answer`; what was not extracted never agrees.
update grade
set
    confidence = vote.share,
    confidence_source = 'votes'
from (
    select
        grade.row,
        case
            when grade.score is not null and grade.extracted is not null
                then count(*) over (
                    partition by answer.entrant, answer.sample_id, grade.score is null, grade.extracted
                ) / count(*) over (partition by answer.entrant, answer.sample_id)
        end as share,
        count(*) over (partition by answer.entrant, answer.sample_id) as n_answers
    from grade
    inner join answer on grade.row = answer.row
    where
        answer.status = 'answered'
        and grade.metric = 'score'
) as vote
where
    grade.row = vote.row
    and vote.n_answers > 1
    and vote.share is not null
