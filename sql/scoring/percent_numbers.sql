-- What numbers with a percent sign count as, where that is a hundredth.
-- One row per number.
-- Never NULL; empty where the percent sign is ignored.
-- Source: lists of equal length.
create or replace temp table percent_number as
select
    unnest($texts::varchar[]) as text,
    unnest($keys::varchar[]) as key
