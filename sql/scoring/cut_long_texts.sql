-- Cuts what is kept to explain a grade.
-- One row per grade with a text of more than 500 characters.
-- An ellipsis shows the cut.
-- Source: the table `grade`.
update grade
set
    extracted = case when length(grade.extracted) > 500 then left(grade.extracted, 500) || '…' else grade.extracted end,
    detail = case when length(grade.detail) > 500 then left(grade.detail, 500) || '…' else grade.detail end
where length(grade.extracted) > 500 or length(grade.detail) > 500
