-- The grades of the answers that were judged.
-- One row per row of `judged` with a score or a fault.
-- score is NULL with a fault.
-- Source: the view `judged`.
insert into grade
select
    judged.row,
    'score' as metric,
    judged.score,
    case
        when $higher_is_better then judged.score >= $threshold
        else judged.score <= $threshold
    end as is_pass,
    case when judged.score is not null then 'scored' else 'scorer_error' end as outcome,
    judged.extracted,
    judged.extracted_by,
    null as confidence,
    null as confidence_source,
    case
        when judged.fault is null then judged.detail
        else concat_ws('; ', judged.detail, judged.fault)
    end as detail
from judged
where judged.score is not null or judged.fault is not null
