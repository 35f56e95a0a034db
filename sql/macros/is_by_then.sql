-- Whether a run had begun by the moment that the warehouse is looked at as of.
-- A boolean; true for every run if there is no such moment.
-- NULL for NULL.
-- Source: a run_id begins with its start, so that text order is order in time; `as_of_run()` is the first id too late.
create or replace macro is_by_then(run_id) as
as_of_run() is null or run_id < as_of_run();
