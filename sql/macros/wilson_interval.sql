-- 95 % interval of a rate, k of n.
-- A struct (low, high) inside [0, 1].
-- NULL for n < 1; never of width 0, also where all or none passed.
-- Source: Wilson (1927), z = 1.959963984540054, without continuity correction.
create or replace macro wilson_interval(k, n) as
case
    when n >= 1
        then struct_pack(
            low := case
                when k <= 0 then 0.0
                else (
                    k / n + 1.9207294103470706 / n
                    - 1.959963984540054 * sqrt(k / n * (1 - k / n) / n + 0.9603647051735353 / (n * n))
                ) / (1 + 3.8414588206941412 / n)
            end,
            high := case
                when k >= n then 1.0
                else (
                    k / n + 1.9207294103470706 / n
                    + 1.959963984540054 * sqrt(k / n * (1 - k / n) / n + 0.9603647051735353 / (n * n))
                ) / (1 + 3.8414588206941412 / n)
            end
        )
end;
