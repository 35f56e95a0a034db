-- The stored replies behind each grade that a judge gave, and the answer that it was compared with.
-- One row per answer that a judge was asked about.
-- judge_response_ids is NULL while there is no reply.
-- Source: the table `judge_ballot`; replies in the order asked, unreadable ones included, since they were paid too.
create or replace temp view judge_source as
select
    judge_ballot.row,
    any_value(judge_ballot.opponent_response_id) as opponent_response_id,
    nullif(
        flatten(list(judge_ballot.response_ids order by judge_ballot.side asc)), []
    ) as judge_response_ids
from judge_ballot
group by judge_ballot.row
