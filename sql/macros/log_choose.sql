-- Natural logarithm of the binomial coefficient, n over k.
-- A number for whole n >= k >= 0.
-- NULL outside of that range.
-- Source: the logarithm of the gamma function.
create or replace macro log_choose(n, k) as
case
    when k >= 0 and k <= n then lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
end;
