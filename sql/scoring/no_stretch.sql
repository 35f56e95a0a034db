-- Makes `trials` and `responses` the stored tables again.
-- No rows.
-- Never NULL.
-- Source: none.
drop view if exists temp.trials;
drop view if exists temp.responses;
