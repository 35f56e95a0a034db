-- Empty lists of what judges said: their ballots and votes.
-- `judge_ballot` has one row per answer and order shown, `judge_vote` one per vote that was cast and metric.
-- A vote that came to nothing has a fault and no score; confidence is NULL where the judge gave none.
-- Source: Python fills them.
create or replace temp table judge_ballot (
    row bigint,
    side integer,
    is_open boolean,
    opponent_response_id varchar,
    response_ids varchar[]
);
create or replace temp table judge_vote (
    row bigint,
    side integer,
    vote integer,
    metric varchar,
    score double,
    verdict varchar,
    reason varchar,
    confidence double,
    fault varchar
)
