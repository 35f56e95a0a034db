-- Mean of x, each value counted `weight` times.
-- An aggregate; a double.
-- NULL for no values; values that are NULL weigh nothing.
-- Source: an exact sum over the sum of weights.
create or replace macro weighted_mean(x, weight) as
exact_sum(x * weight) / nullif(sum(case when x is not null then weight end), 0);
