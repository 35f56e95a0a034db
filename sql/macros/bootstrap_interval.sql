-- 95 % percentile bootstrap interval of the mean of a list.
-- A struct (low, high); n_draws resamples, the same for the same seed on every machine.
-- NULL for fewer than two values; costs n_draws x length, so no view uses it.
-- Source: Efron and Tibshirani (1993), chapter 13; draws are md5 of seed, draw and place.
create or replace macro bootstrap_interval(list_of_values, n_draws, seed) as
case
    when len(list_of_values) >= 2
        then list_transform(
            [
                list_transform(
                    range(0, n_draws),
                    lambda b: list_avg(
                        list_transform(
                            range(0, len(list_of_values)),
                            lambda i: list_of_values[1 + cast(
                                md5_number_lower(concat_ws(':', seed, b, i)) % len(list_of_values) as bigint
                            )]
                        )
                    )
                )
            ],
            lambda means: struct_pack(
                low := list_aggregate(means, 'quantile_cont', 0.025),
                high := list_aggregate(means, 'quantile_cont', 0.975)
            )
        )[1]
end;
