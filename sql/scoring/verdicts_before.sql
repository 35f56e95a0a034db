-- Verdicts on programs that were run before.
-- One row per row of `haystack` in `program_before`.
-- score is NULL where no code was found.
-- Source: the view `haystack` and the table `program_before`.
insert into verdict
select
    program_before.row,
    program_before.score,
    program_before.extracted,
    program_before.extracted_by,
    program_before.detail,
    null as fault
from program_before
semi join haystack
    on program_before.row = haystack.row
