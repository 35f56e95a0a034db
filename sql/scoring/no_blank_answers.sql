-- No answers that are blank: what there is where extraction found something in each.
-- No rows.
-- Never NULL.
-- Source: none.
create or replace temp table blank_answer (row bigint)
