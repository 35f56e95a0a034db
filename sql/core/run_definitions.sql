-- Definition that a run was graded by under each scorer name: the newest, if by several.
-- One row per (run_id, task, scorer).
-- scorer_version counts the definitions of the name from 1.
-- Source: scores and definitions.
create or replace view run_definitions as
with used as (
    select
        scores.run_id,
        scores.task,
        scores.scorer_id
    from scores
    group by
        scores.run_id,
        scores.task,
        scores.scorer_id
)

select
    used.run_id,
    definitions.task,
    definitions.scorer,
    definitions.scorer_id,
    definitions.scorer_version,
    definitions.is_primary,
    definitions.is_current,
    definitions.type,
    definitions.score_min,
    definitions.score_max,
    definitions.higher_is_better,
    definitions.unanswered_score,
    definitions.pass_threshold
from used
inner join definitions
    on used.task = definitions.task
    and used.scorer_id = definitions.scorer_id
qualify row_number() over (
    partition by used.run_id, definitions.task, definitions.scorer
    order by
        definitions.recency desc,
        definitions.scorer_version desc
) = 1;
