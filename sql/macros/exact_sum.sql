-- Sum of doubles that does not depend on the order of rows or the number of threads.
-- An aggregate; a double.
-- NULL for no values, and for a sum that no double can hold. Values of 1e12 and more are summed with compensation instead.
-- Source: decimal addition, 18 digits after the point; `fsum` (Kahan 1965) beyond.
create or replace macro exact_sum(x) as
case
    when max(abs(x)) < 1e12
        then cast(sum(cast(case when abs(x) < 1e12 then x end as decimal(38, 18))) as double)
    when isfinite(fsum(x)) then fsum(x)
end;
