-- Exact two-sided p of n_up changes against n_down: the sign test, and McNemar's exact test on discordant pairs.
-- A number in (0, 1] for whole counts >= 0; ties are left out before.
-- NULL where nothing differs (both counts 0): there is nothing to test.
-- Source: twice the smaller tail of Binomial(n_up + n_down, 1/2), at most 1 (Conover 1999, section 3.4).
create or replace macro sign_test(n_up, n_down) as
case
    when n_up + n_down > 0
        then least(
            1.0,
            2 * list_sum(
                list_transform(
                    range(0, cast(least(n_up, n_down) as bigint) + 1),
                    lambda i: exp(log_choose(n_up + n_down, i) - (n_up + n_down) * ln(2))
                )
            )
        )
end;
