-- A sum of squares without what rounding took below 0.
-- A number >= 0.
-- NULL for NULL, and where squares were too large for a double.
-- Source: not applicable; a guard.
create or replace macro not_negative(x) as
case when isfinite(x) then greatest(0.0, x) end;
