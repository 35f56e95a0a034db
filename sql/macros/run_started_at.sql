-- Time at which a run began, as its run_id says.
-- A time, UTC.
-- NULL for a run_id that does not begin with a time.
-- Source: the first sixteen characters, such as 20261130T083112Z.
create or replace macro run_started_at(run_id) as
cast(try_strptime(left(run_id, 15), '%Y%m%dT%H%M%S') as timestamptz);
