-- What the grades of some answers add to each entrant's mean.
-- One row per entrant with at least one grade that counts.
-- total is the sum of what counts, n the number; both without NULL.
-- Source: the relations `answer` and `grade`; $unanswered_score is NULL where unanswered trials do not count.
with counted as (
    select
        answer.model,
        answer.prompt,
        counted_score(grade.score, grade.outcome, $unanswered_score::double) as score
    from grade
    inner join answer using (row)
    where grade.metric = 'score'
)

select
    counted.model,
    counted.prompt,
    sum(counted.score) as total,
    count(counted.score) as n
from counted
where counted.score is not null
group by counted.model, counted.prompt
order by counted.model asc, counted.prompt asc
