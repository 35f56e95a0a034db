-- Scores in the order of their stored table.
-- One row per row of the relation `spooled`, of one run and scorer.
-- NULL as in `scores`.
-- Source: the relation `spooled`.
select columns(*)
from spooled
order by
    spooled.model asc,
    spooled.prompt asc,
    spooled.sample_id asc,
    spooled.epoch asc,
    spooled.metric asc,
    spooled.opponent_response_id asc nulls last
