-- Each text after the steps that both sides of a comparison take.
-- One row per row of `haystack` that is not blank.
-- text is never NULL. The variable `normal_steps` says which steps.
-- Source: the view `haystack` and the macro `normal_text`.
create or replace temp view normal as
select
    haystack.row,
    haystack.targets,
    normal_text(
        haystack.text,
        getvariable('normal_steps').is_lower,
        getvariable('normal_steps').is_collapsed,
        getvariable('normal_steps').is_stripped
    ) as text,
    coalesce(haystack.extracted_by, 'text') as extracted_by,
    haystack.note
from haystack
where not is_blank(haystack.text)
