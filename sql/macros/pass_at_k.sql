-- Chance that at least one of k answers drawn from n is right, when c of the n are.
-- A number in [0, 1] for whole 1 <= k <= n and 0 <= c <= n.
-- NULL where k > n: too few answers say nothing, they are not a success.
-- Source: 1 - C(n - c, k) / C(n, k), as a product (Chen et al. 2021, arXiv 2107.03374).
create or replace macro pass_at_k(n, c, k) as
case
    when k is null or n is null or c is null or k < 1 or k > n or c < 0 or c > n then null
    when c = 0 then 0.0
    when n - c < k then 1.0
    when k = 1 then c / n
    else 1 - list_product(
        list_transform(range(cast(n - c + 1 as bigint), cast(n + 1 as bigint)), lambda i: 1 - k / i)
    )
end;
