-- The answers that there are, without the reasoning written into them.
-- One row per answered row of `subject`.
-- text is never NULL; it is empty where reasoning was never closed.
-- Source: the view `subject` and the macro `final_text`.
create or replace temp view gradable as
select
    subject.row,
    subject.targets,
    subject.choices,
    final_text(subject.text) as text
from subject
where subject.status = 'answered'
