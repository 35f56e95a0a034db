-- Ballots as they stand.
-- One row per answer and order shown.
-- opponent_response_id is NULL without an opponent, or where the opponent is a target.
-- Source: lists of equal length.
insert into judge_ballot
select
    unnest($rows::bigint[]) as row,
    unnest($sides::integer[]) as side,
    unnest($opens::boolean[]) as is_open,
    unnest($opponents::varchar[]) as opponent_response_id,
    unnest($responses::varchar[][]) as response_ids
