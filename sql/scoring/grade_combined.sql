-- The grades of a combination: mean, majority, all, any, min or max of what its parts say.
-- One row per row of `answer`.
-- score in [0, 1] where every part is known; each part counts from 0 (its worst score) to 1 (its best).
-- Source: the relation `part_score`; the first part that is missing, else unanswered, gives the outcome.
insert into grade
with part as (
    select
        unnest(range(len($names))) as place,
        unnest($names) as name,
        unnest($scorer_ids) as scorer_id,
        unnest($weights::double[]) as weight,
        unnest($worsts::double[]) as worst,
        unnest($bests::double[]) as best
),

first_score as (
    select
        part_score.model,
        part_score.prompt,
        part_score.sample_id,
        part_score.epoch,
        part_score.scorer_id,
        part_score.score,
        part_score.is_pass,
        part_score.outcome,
        part_score.extracted
    from part_score
    qualify row_number() over (
        partition by
            part_score.model,
            part_score.prompt,
            part_score.sample_id,
            part_score.epoch,
            part_score.scorer_id
        order by part_score.metric <> 'score' asc, part_score.metric asc
    ) = 1
),

said as (
    select
        answer.row,
        part.place,
        part.name,
        part.weight,
        first_score.score,
        coalesce(first_score.outcome, 'pending') as outcome,
        first_score.extracted,
        coalesce(is_unanswered(first_score.outcome), false) as is_unanswered,
        first_score.score is null and not coalesce(is_unanswered(first_score.outcome), false) as is_missing,
        case
            when first_score.score is not null
                then (first_score.score - part.worst) / (part.best - part.worst)
            else 0.0
        end as worth,
        coalesce(first_score.is_pass, false) as is_pass
    from answer
    cross join part
    left join first_score
        on answer.model = first_score.model
        and answer.prompt = first_score.prompt
        and answer.sample_id = first_score.sample_id
        and answer.epoch = first_score.epoch
        and part.scorer_id = first_score.scorer_id
),

counted as (
    select
        said.row,
        coalesce(
            arg_min(said.outcome, said.place) filter (where said.is_missing),
            case
                when $leaves_unanswered_out or bool_and(said.is_unanswered)
                    then arg_min(said.outcome, said.place) filter (where said.is_unanswered)
            end
        ) as reason,
        list_sum(list(said.weight * said.worth order by said.place asc))
        / list_sum(list(said.weight order by said.place asc)) as mean,
        min(said.worth) as least,
        max(said.worth) as greatest,
        coalesce(list_sum(list(said.weight order by said.place asc) filter (where said.is_pass)), 0.0)
        - coalesce(list_sum(list(said.weight order by said.place asc) filter (where not said.is_pass)), 0.0)
            as lead,
        bool_and(said.is_pass) as is_every,
        bool_or(said.is_pass) as is_any,
        case
            when count(said.extracted) = count(*) and min(said.extracted) = max(said.extracted)
                then min(said.extracted)
        end as extracted,
        string_agg(
            said.name || ' ' || coalesce(printf('%g', said.score), said.outcome),
            ', '
            order by said.place asc
        ) as detail
    from said
    group by said.row
),

scored as (
    select
        counted.row,
        counted.reason,
        case
            when counted.reason is not null then null
            when $method = 'mean' then counted.mean
            when $method = 'min' then counted.least
            when $method = 'max' then counted.greatest
            when $method = 'all' then counted.is_every::integer::double
            when $method = 'any' then counted.is_any::integer::double
            when abs(counted.lead) < 1e-12 then 0.5
            else (counted.lead > 0)::integer::double
        end as score,
        counted.extracted,
        counted.detail
    from counted
)

select
    scored.row,
    'score' as metric,
    scored.score,
    scored.score >= $threshold as is_pass,
    coalesce(scored.reason, 'scored') as outcome,
    case when scored.score is not null then scored.extracted end as extracted,
    null as extracted_by,
    null as confidence,
    null as confidence_source,
    scored.detail
from scored
