-- Drops what grading made on the way.
-- No rows.
-- Never NULL.
-- Source: `grade` alone is kept.
drop view if exists haystack;
drop view if exists gradable;
drop view if exists subject;
drop table if exists found;
drop table if exists piece;
drop table if exists todo;
drop table if exists verdict;
drop table if exists wanted;
drop table if exists percent_number;
drop table if exists pattern;
drop table if exists searched;
drop table if exists patterned;
