-- Standard normal distribution function.
-- A number in [0, 1] for any x.
-- NULL for NULL; relative error below 1e-13 for abs(x) <= 8, in both tails.
-- Source: half of erfc(-x / sqrt(2)).
create or replace macro normal_cdf(x) as
case
    when x > 0 then 1 - erfc(cast(x as double) / sqrt(2)) / 2
    else erfc(-cast(x as double) / sqrt(2)) / 2
end;
