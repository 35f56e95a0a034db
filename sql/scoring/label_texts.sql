-- The different labels that stand in samples.
-- One row per text.
-- Never blank.
-- Source: the relation `answer`.
select distinct answer.label
from answer
where not is_blank(answer.label)
order by answer.label asc
