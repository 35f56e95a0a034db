-- Whether two values differ, NULL being a value of its own.
-- A boolean.
-- Never NULL.
-- Source: not applicable; a name for a comparison.
create or replace macro differs(a, b) as
not (a is not distinct from b);
