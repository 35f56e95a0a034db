-- The last number of each text where it is a plain one: digits with marks, a minus, a percent sign.
-- One row per row of `haystack`.
-- text is canonical, with % where it had one; NULL where Python must look: there is_open holds.
-- Source: the view `haystack`; $pattern takes only tokens that `gradetrail.scoring.numbers` reads alike.
create or replace temp table found as
with candidate as materialized (
    select
        haystack.row,
        haystack.targets,
        haystack.extracted_by,
        haystack.note,
        regexp_extract(haystack.text, $pattern, 1) as token
    from haystack
)

select
    candidate.row,
    candidate.targets,
    case
        when candidate.token = '' or strlen(candidate.token) > 38 then null
        when regexp_full_match(candidate.token, '[1-9][0-9]*') then candidate.token
        else plain_number(candidate.token, $mark)
    end as text,
    coalesce(candidate.extracted_by, $rule) as extracted_by,
    candidate.note,
    null::varchar as fault,
    candidate.token = '' or strlen(candidate.token) > 38 as is_open
from candidate
