-- The grades of answers that have nothing to be compared with.
-- One row per answer whose opponent gave none, or which is the opponent's own.
-- score is NULL: the opponent itself is skipped, the others have no target; neither counts in a mean.
-- Source: the table `judge_answer`.
insert into grade
select
    judge_answer.row,
    'score' as metric,
    null as score,
    null as is_pass,
    case when judge_answer.is_self then 'skipped' else 'no_target' end as outcome,
    null as extracted,
    null as extracted_by,
    null as confidence,
    null as confidence_source,
    judge_answer.note as detail
from judge_answer
where judge_answer.note is not null
