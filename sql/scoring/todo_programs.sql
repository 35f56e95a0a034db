-- Answers whose code is to be run, with what their samples say about it.
-- One row per row of `haystack` that is not blank and was not run before, numbered from 1.
-- program, checks, stdin and stdout are NULL where the scorer has no template for them.
-- Source: the view `haystack`, the relation `answer` and the table `program_before`.
create or replace temp table todo as
select
    row_number() over () as n,
    haystack.row,
    haystack.text,
    answer.program,
    answer.checks,
    answer.stdin,
    answer.stdout
from haystack
inner join answer on haystack.row = answer.row
anti join program_before on haystack.row = program_before.row
where not is_blank(haystack.text)
