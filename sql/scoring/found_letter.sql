-- The letter that a reply names, where it is the whole reply or follows a marker at the reply's end.
-- One row per row of `haystack`.
-- text is NULL where Python must look: there is_open holds.
-- Source: the view `haystack`; `gradetrail.scoring.letters` is the rule and has the patterns.
create or replace temp table found as
with candidate as materialized (
    select
        haystack.row,
        haystack.targets,
        haystack.extracted_by,
        haystack.note,
        upper(
            coalesce(
                nullif(regexp_extract(haystack.text, $whole, 1), ''),
                nullif(regexp_extract(haystack.text, $marked, 1), '')
            )
        ) as letter,
        coalesce(len(haystack.choices), 26) as n_options
    from haystack
),

judged as materialized (
    select
        candidate.*,
        coalesce(ord(candidate.letter) - 64 between 1 and candidate.n_options, false) as is_option
    from candidate
)

select
    judged.row,
    judged.targets,
    case when judged.is_option then judged.letter end as text,
    coalesce(judged.extracted_by, $rule) as extracted_by,
    judged.note,
    null::varchar as fault,
    not judged.is_option as is_open
from judged
