-- Cuts what is kept to explain a grade.
-- One row per grade with a text of more than 500 characters.
-- An ellipsis shows the cut.
-- Source: the table `grade`.
update grade
set
    extracted = shortened(grade.extracted, 500),
    detail = shortened(grade.detail, 500)
where length(grade.extracted) > 500 or length(grade.detail) > 500
