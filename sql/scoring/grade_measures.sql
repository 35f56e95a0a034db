-- The grades by the further metrics of a scorer.
-- One row per row of `subject` and metric; an answer without a score has none by any of its metrics.
-- score is NULL unless the outcome is `scored`.
-- Source: the tables `grade`, `measure` and `expected`, the view `subject`.
insert into grade
with main as (
    select
        grade.row,
        grade.outcome,
        grade.extracted,
        grade.extracted_by,
        grade.detail,
        subject.targets
    from grade
    inner join subject on grade.row = subject.row
    where grade.metric = 'score'
)

select
    main.row,
    measure.metric,
    measure.score,
    case
        when $higher_is_better then measure.score >= $threshold
        else measure.score <= $threshold
    end as is_pass,
    main.outcome,
    measure.extracted,
    main.extracted_by,
    null as confidence,
    null as confidence_source,
    measure.detail
from main
inner join measure on main.row = measure.row
where main.outcome = 'scored'
union all
select
    main.row,
    expected.metric,
    null as score,
    null as is_pass,
    main.outcome,
    main.extracted,
    main.extracted_by,
    null as confidence,
    null as confidence_source,
    main.detail
from main
inner join expected on main.targets is not distinct from expected.targets
where main.outcome <> 'scored'
