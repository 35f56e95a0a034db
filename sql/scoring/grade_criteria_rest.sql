-- The grades by the criteria of a rubric where there is no score: what the metric `score` says.
-- One row per answer without a score and criterion of $metrics.
-- score is NULL.
-- Source: the table `grade`.
insert into grade
with criterion as (
    select unnest($metrics::varchar[]) as metric
)

select
    grade.row,
    criterion.metric,
    null as score,
    null as is_pass,
    grade.outcome,
    null as extracted,
    null as extracted_by,
    null as confidence,
    null as confidence_source,
    grade.detail
from grade
semi join subject on grade.row = subject.row
cross join criterion
where
    grade.metric = 'score'
    and grade.score is null
