-- Drops what grading made on the way.
-- No rows.
-- Never NULL.
-- Source: `grade` alone is kept.
drop view if exists temp.judged;
drop view if exists temp.normal;
drop view if exists temp.haystack;
drop view if exists temp.gradable;
drop view if exists temp.subject;
drop table if exists temp.found;
drop table if exists temp.piece;
drop table if exists temp.todo;
drop table if exists temp.verdict;
drop table if exists temp.noted;
drop table if exists temp.wanted;
drop table if exists temp.percent_number;
drop table if exists temp.pattern;
drop table if exists temp.searched;
drop table if exists temp.patterned;
drop table if exists temp.program_before;
drop table if exists temp.label;
drop table if exists temp.measure;
drop table if exists temp.expected;
