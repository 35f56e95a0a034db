-- Exact two-sided p of k1 passed of n1 against k2 passed of n2.
-- A number in (0, 1] for whole counts.
-- NULL where a side is empty, nothing or everything passed, or a count exceeds its total.
-- Source: Fisher's exact test: hypergeometric probabilities not above the observed one (tolerance 1e-7 relative).
create or replace macro fisher_exact(k1, n1, k2, n2) as
case
    when
        n1 > 0 and n2 > 0
        and k1 between 0 and n1 and k2 between 0 and n2
        and k1 + k2 between 1 and n1 + n2 - 1
        then least(
            1.0,
            list_sum(
                list_filter(
                    list_transform(
                        range(
                            cast(greatest(0, k1 + k2 - n2) as bigint),
                            cast(least(k1 + k2, n1) as bigint) + 1
                        ),
                        lambda i: exp(
                            log_choose(n1, i) + log_choose(n2, k1 + k2 - i) - log_choose(n1 + n2, k1 + k2)
                        )
                    ),
                    lambda p: p <= (1 + 1e-7) * exp(
                        log_choose(n1, k1) + log_choose(n2, k2) - log_choose(n1 + n2, k1 + k2)
                    )
                )
            )
        )
end;
