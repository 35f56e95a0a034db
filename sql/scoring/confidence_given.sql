-- Confidence that the provider gave, or that the log-probabilities of an answer's tokens say.
-- One row per grade whose answer has one, but for those that have one already, of their judge.
-- NULL where it is outside 0..1, with the reason in detail.
-- Source: the tables `grade` and `answer`; exp(-token_nll / token_count) is the mean probability of a token.
update grade
set
    confidence = case when stated.value between 0 and 1 then stated.value end,
    confidence_source = case when stated.value between 0 and 1 then $source end,
    detail = case
        when stated.value between 0 and 1 then grade.detail
        else concat_ws('; ', grade.detail, 'confidence ' || stated.value::varchar || ' is outside 0..1')
    end
from (
    select
        answer.row,
        case
            when $source = 'logprobs' then exp(-answer.token_nll / nullif(answer.token_count, 0))
            else answer.confidence
        end as value
    from answer
    where answer.status = 'answered'
) as stated
where
    grade.row = stated.row
    and grade.confidence is null
    and stated.value is not null
