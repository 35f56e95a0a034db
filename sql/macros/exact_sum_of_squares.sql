-- Sum of squares of doubles that does not depend on the order of rows or the number of threads.
-- An aggregate; a double.
-- NULL for no values, and where a value reaches 1e9, whose square the exact sum cannot hold.
-- Source: decimal addition, 14 digits after the point.
create or replace macro exact_sum_of_squares(x) as
case
    when max(abs(x)) < 1e9
        then cast(sum(cast(case when abs(x) < 1e9 then x * x end as decimal(38, 14))) as double)
end;
