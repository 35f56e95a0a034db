-- Labels that stand in samples.
-- One row per answer whose sample has one.
-- score is NULL with a fault.
-- Source: the relation `answer`, and lists of texts with what they say.
insert into label
with meaning as (
    select
        unnest($texts::varchar[]) as text,
        unnest($scores::double[]) as score,
        unnest($faults::varchar[]) as fault
)

select
    answer.row,
    null as sample_id,
    null as model,
    null as prompt,
    null as epoch,
    null as run,
    null as rater,
    meaning.score,
    null as reason,
    meaning.fault
from answer
inner join meaning on answer.label = meaning.text
