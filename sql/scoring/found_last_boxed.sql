-- What stands in the last \boxed{} of each text, where it holds no braces and no commands.
-- One row per row of `haystack`.
-- text is NULL where Python must look: there is_open holds.
-- Source: the view `haystack`; `gradetrail.scoring.boxed` is the rule.
create or replace temp table found as
with candidate as materialized (
    select
        haystack.row,
        haystack.targets,
        haystack.extracted_by,
        haystack.note,
        case
            when contains(haystack.text, '\boxed') and not contains(haystack.text, '\fbox')
                then strip_text(
                    regexp_extract(
                        string_split(haystack.text, '\boxed')[-1],
                        '\A[' || white_space() || ']*\{([^{}\\]*)\}',
                        1
                    )
                )
            else ''
        end as text
    from haystack
)

select
    candidate.row,
    candidate.targets,
    case when candidate.text <> '' then candidate.text end as text,
    coalesce(candidate.extracted_by, $rule) as extracted_by,
    candidate.note,
    null::varchar as fault,
    candidate.text = '' as is_open
from candidate
