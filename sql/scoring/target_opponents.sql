-- The target of each sample as the answer to compare with.
-- One row per answer.
-- text is NULL where the sample has no target; of several targets the first counts.
-- Source: the relation `answer`.
create or replace temp table opponent as
select
    answer.row,
    answer.targets[1] as text,
    null::varchar as response_id,
    false as is_self
from answer
