-- The grades of the answers that were not judged: why there is no score.
-- One row per row of `subject` that `grade` has not.
-- score is NULL; the order of the branches is the order of precedence.
-- Source: the view `subject` and the table `noted`.
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
    case
        when rest.status in ('pending', 'skipped') then rest.status
        when rest.status = 'error' and rest.error_type in ('over_context', 'filtered') then rest.error_type
        when rest.status = 'error' then 'provider_error'
        when noted.fault is not null then 'scorer_error'
        when rest.targets is null and $needs_target then 'no_target'
        when rest.stop_reason = 'length' then 'truncated'
        when rest.stop_reason = 'refusal' then 'refused'
        when rest.stop_reason = 'filter' then 'filtered'
        when is_blank(final_text(rest.text)) then 'empty'
        else 'unparsed'
    end as outcome,
    null as extracted,
    null as extracted_by,
    null as confidence,
    null as confidence_source,
    nullif(concat_ws('; ', noted.note, noted.fault), '') as detail
from rest
left join noted on rest.row = noted.row
