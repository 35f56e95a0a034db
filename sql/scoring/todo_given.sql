-- Answers that Python judges, with what it judges them by.
-- One row per row of `haystack` with something to judge, numbered from 1.
-- targets and tool_calls are NULL where there are none.
-- Source: the view `haystack` and the relation `answer`; $reads_calls takes answers for the calls that they make,
-- so that one without text or calls, or cut off before any, has nothing to judge.
create or replace temp table todo as
select
    row_number() over () as n,
    haystack.row,
    haystack.text,
    haystack.targets,
    case when $reads_calls then answer.tool_calls end as tool_calls
from haystack
inner join answer on haystack.row = answer.row
where
    (haystack.targets is not null or not $takes_target)
    and (
        ($reads_calls and answer.tool_calls is not null)
        or (
            not is_blank(haystack.text)
            and (not $reads_calls or coalesce(answer.stop_reason, '') not in ('length', 'refusal', 'filter'))
        )
    )
