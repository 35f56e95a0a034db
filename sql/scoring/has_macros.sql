-- Calls the macro that is created last: an error means that the macros of grading are not there.
-- One row.
-- Never NULL.
-- Source: counting only.
select may_be_near('1', ['1'], 0.0, 0.0) as is_near
