-- Definitions of scorers, with the bounds of their scores.
-- One row per scorer_id.
-- score_min and score_max in the scorer's own unit; NULL means unbounded.
-- Source: scorers/<scorer_id>.json.
create or replace table scorers as
select
    stored.body ->> '$.scorer_id' as scorer_id,
    stored.body ->> '$.definition.type' as type,
    stored.body -> '$.definition' as definition,
    cast(stored.body ->> '$.score_min' as double) as score_min,
    cast(stored.body ->> '$.score_max' as double) as score_max,
    coalesce(cast(stored.body ->> '$.higher_is_better' as boolean), true) as higher_is_better,
    cast(stored.body ->> '$.pass_threshold' as double) as pass_threshold
from stored_scorers as stored;

comment on table scorers is 'Definitions of scorers, with the bounds of their scores.';
comment on column scorers.scorer_id is 'Identity of the whole definition.';
comment on column scorers.type is 'Type of the scorer, such as exact or judge.';
comment on column scorers.definition is 'The definition as JSON.';
comment on column scorers.score_min is 'Least score; NULL if unbounded.';
comment on column scorers.score_max is 'Greatest score; NULL if unbounded.';
comment on column scorers.higher_is_better is 'Whether a higher score is the better one.';
comment on column scorers.pass_threshold is 'Score from which a grade passes; NULL if there is none.';
