-- The grades of answers that people labelled, and of those that they did not.
-- One row per answered row of `subject`.
-- score is the mean of the labels that say most exactly which answer they are about; without one it is `no_target`.
-- Source: the tables `label` and `answer`.
insert into grade
with about as (
    select
        answer.row,
        label.rater,
        label.score,
        label.reason,
        label.fault,
        (label.model is not null)::integer
        + (label.prompt is not null)::integer
        + (label.epoch is not null)::integer
        + (label.run is not null)::integer as n_stated
    from label
    inner join answer
        on label.sample_id = answer.sample_id
        and coalesce(label.model, answer.model) = answer.model
        and coalesce(label.prompt, answer.prompt) = answer.prompt
        and coalesce(label.epoch, answer.epoch) = answer.epoch
        and (
            label.run is null
            or starts_with(answer.run_id, label.run)
            or ends_with(answer.run_id, '-' || label.run)
        )
    union all
    select
        label.row,
        label.rater,
        label.score,
        label.reason,
        label.fault,
        0 as n_stated
    from label
    where label.row is not null
),

exact as (
    select
        about.row,
        about.rater,
        about.score,
        about.reason,
        about.fault
    from about
    qualify about.n_stated = max(about.n_stated) over (partition by about.row)
),

said as (
    select
        exact.row,
        list_sum(list(exact.score order by exact.score asc)) / count(exact.score) as score,
        min(exact.fault) as fault,
        string_agg(
            concat_ws(
                ': ',
                exact.rater,
                concat_ws(
                    ' ', case when exact.rater is not null then printf('%g', exact.score) end, exact.reason
                )
            ),
            '; '
            order by exact.rater asc, exact.score asc
        ) as detail
    from exact
    group by exact.row
)

select
    subject.row,
    'score' as metric,
    case when said.fault is null then said.score end as score,
    case
        when said.fault is not null then null
        when $higher_is_better then said.score >= $threshold
        else said.score <= $threshold
    end as is_pass,
    case
        when said.fault is not null then 'scorer_error'
        when said.score is not null then 'scored'
        else 'no_target'
    end as outcome,
    null as extracted,
    null as extracted_by,
    null as confidence,
    null as confidence_source,
    coalesce(said.fault, nullif(said.detail, '')) as detail
from subject
left join said on subject.row = said.row
where subject.status = 'answered'
