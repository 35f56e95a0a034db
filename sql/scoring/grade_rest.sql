-- The grades of the answers that were not judged: why there is no score.
-- One row per row of `subject` that `grade` has not.
-- score is NULL.
-- Source: the view `subject`, the table `noted` and the macro `ungraded_outcome`.
insert into grade
with rest as (
    select
        subject.row,
        subject.status,
        subject.error_type,
        subject.stop_reason,
        subject.targets,
        subject.text
    from subject
    anti join grade on subject.row = grade.row
)

select
    rest.row,
    'score' as metric,
    null as score,
    null as is_pass,
    ungraded_outcome(
        rest.status,
        rest.error_type,
        noted.fault,
        rest.targets is null and $needs_target,
        rest.stop_reason,
        is_blank(final_text(rest.text))
    ) as outcome,
    null as extracted,
    null as extracted_by,
    null as confidence,
    null as confidence_source,
    nullif(concat_ws('; ', noted.note, noted.fault), '') as detail
from rest
left join noted on rest.row = noted.row
