-- The grades that the votes of a judge come to.
-- One row per answer of `subject` that a judge was asked about and metric; `pending` while anything is still to be asked.
-- score is NULL unless every order shown has $n_needed readable votes; confidence is the mean of the votes'.
-- Source: judge_ballot and judge_vote; votes are averaged, or the most frequent counts (those that share it: their
-- mean); the metric `score` of a rubric is the mean of its criteria by weight; two orders that disagree are a tie.
insert into grade
with readable as (
    select
        judge_vote.row,
        judge_vote.side,
        judge_vote.vote,
        judge_vote.metric,
        judge_vote.score
    from judge_vote
    semi join subject on judge_vote.row = subject.row
    where judge_vote.fault is null
),

frequency as (
    select
        readable.row,
        readable.side,
        readable.metric,
        readable.score,
        count(*) as n_votes,
        max(count(*)) over (partition by readable.row, readable.side, readable.metric) as n_most
    from readable
    group by
        readable.row,
        readable.side,
        readable.metric,
        readable.score
),

vote_total as (
    select
        frequency.row,
        frequency.side,
        frequency.metric,
        case
            when $is_majority
                then exact_sum(case when frequency.n_votes = frequency.n_most then frequency.score end)
                    / count(*) filter (where frequency.n_votes = frequency.n_most)
            else exact_sum(frequency.score * frequency.n_votes) / sum(frequency.n_votes)
        end as score
    from frequency
    group by
        frequency.row,
        frequency.side,
        frequency.metric
),

criterion as (
    select
        unnest($metrics::varchar[]) as metric,
        unnest($weights::double[]) as weight
),

side_score as (
    select
        vote_total.row,
        vote_total.side,
        vote_total.metric,
        vote_total.score
    from vote_total
    union all
    select
        vote_total.row,
        vote_total.side,
        'score' as metric,
        exact_sum(vote_total.score * criterion.weight) / exact_sum(criterion.weight) as score
    from vote_total
    inner join criterion
        on vote_total.metric = criterion.metric
    group by
        vote_total.row,
        vote_total.side
),

row_score as (
    select
        side_score.row,
        side_score.metric,
        min(side_score.score) < 0.5 and max(side_score.score) > 0.5
        or min(side_score.score) <> max(side_score.score)
        and (min(side_score.score) = 0.5 or max(side_score.score) = 0.5) as is_split,
        exact_sum(side_score.score) / count(*) as score
    from side_score
    group by
        side_score.row,
        side_score.metric
),

side_count as (
    select
        judge_ballot.row,
        judge_ballot.side,
        judge_ballot.is_open,
        count(distinct readable.vote) as n_readable
    from judge_ballot
    left join readable
        on judge_ballot.row = readable.row
        and judge_ballot.side = readable.side
    where judge_ballot.row in (select subject.row from subject)
    group by
        judge_ballot.row,
        judge_ballot.side,
        judge_ballot.is_open
),

state as (
    select
        side_count.row,
        count(*) as n_sides,
        case
            when bool_or(side_count.is_open) then 'pending'
            when min(side_count.n_readable) < $n_needed then 'judge_error'
            else 'scored'
        end as outcome
    from side_count
    group by side_count.row
),

cast_vote as (
    select
        judge_vote.row,
        judge_vote.side,
        judge_vote.vote,
        any_value(judge_vote.verdict) as verdict,
        any_value(judge_vote.reason) as reason,
        any_value(judge_vote.confidence) as confidence,
        any_value(judge_vote.fault) as fault
    from judge_vote
    semi join subject on judge_vote.row = subject.row
    group by
        judge_vote.row,
        judge_vote.side,
        judge_vote.vote
),

said as (
    select
        cast_vote.row,
        string_agg(cast_vote.verdict, ', ' order by cast_vote.side asc, cast_vote.vote asc) filter (
            where cast_vote.fault is null
        ) as verdicts,
        string_agg(cast_vote.reason, '; ' order by cast_vote.side asc, cast_vote.vote asc) filter (
            where cast_vote.fault is null and cast_vote.reason <> ''
        ) as reasons,
        string_agg(
            concat('vote ', cast_vote.vote, ': ', cast_vote.fault),
            '; ' order by cast_vote.side asc, cast_vote.vote asc
        ) filter (where cast_vote.fault is not null) as faults,
        exact_sum(cast_vote.confidence) / nullif(count(cast_vote.confidence), 0) as confidence
    from cast_vote
    group by cast_vote.row
),

graded as (
    select
        state.row,
        state.outcome,
        coalesce(row_score.metric, 'score') as metric,
        case
            when state.outcome <> 'scored' then null
            when state.n_sides = 2 and row_score.is_split then 0.5
            else row_score.score
        end as score,
        said.verdicts,
        said.confidence,
        concat_ws(
            '; ',
            case when state.n_sides = 2 and row_score.is_split then 'the orders disagree' end,
            case when said.confidence < 0.5 then concat('low confidence ', round(said.confidence, 3)) end,
            said.reasons,
            said.faults
        ) as detail
    from state
    left join said
        on state.row = said.row
    left join row_score
        on state.row = row_score.row
        and state.outcome = 'scored'
)

select
    graded.row,
    graded.metric,
    graded.score,
    graded.score >= $threshold as is_pass,
    graded.outcome,
    case
        when graded.outcome <> 'scored' then null
        when graded.metric = 'score' then graded.verdicts
        else graded.score::varchar
    end as extracted,
    case when graded.outcome = 'scored' then 'judge' end as extracted_by,
    case when graded.outcome = 'scored' and $keeps_confidence then graded.confidence end as confidence,
    case
        when graded.outcome = 'scored' and $keeps_confidence and graded.confidence is not null then 'judge'
    end as confidence_source,
    nullif(graded.detail, '') as detail
from graded
