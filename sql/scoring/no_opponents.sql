-- No opponents: what a judge has that looks at one answer at a time.
-- No rows.
-- Never NULL.
-- Source: none.
create or replace temp table opponent (
    row bigint,
    text varchar,
    response_id varchar,
    is_self boolean
)
