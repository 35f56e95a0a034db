-- An empty list of notes on answers that were not judged.
-- One row per such answer.
-- note says which engine looked, fault what went wrong.
-- Source: filled by extraction and search.
create or replace temp table noted (
    row bigint,
    note varchar,
    fault varchar
)
