-- Chance that all of k answers drawn from n are right, when c of the n are.
-- A number in [0, 1] for whole 1 <= k <= n and 0 <= c <= n.
-- NULL where k > n.
-- Source: C(c, k) / C(n, k), as a product (Yao et al. 2024, arXiv 2406.12045).
create or replace macro pass_hat_k(n, c, k) as
case
    when k is null or n is null or c is null or k < 1 or k > n or c < 0 or c > n then null
    when c < k then 0.0
    else list_product(list_transform(range(0, cast(k as bigint)), lambda i: (c - i) / (n - i)))
end;
