-- Standard normal distribution function.
-- A number in [0, 1] for any x.
-- NULL for NULL; relative error below 1e-13 for abs(x) <= 8, in both tails.
-- Source: erfc by a Chebyshev series of 28 terms (Press et al., Numerical Recipes, 3rd ed., 6.2.2).
create or replace macro normal_cdf(x) as
list_transform(
    [struct_pack(z := abs(cast(x as double)) / sqrt(2), t := 2 / (2 + abs(cast(x as double)) / sqrt(2)))],
    lambda v: list_transform(
        [
            list_reduce(
                [
                    [-2.8e-17, 0], [1.21e-16, 0], [-9.4e-17, 0], [-1.523e-15, 0], [7.106e-15, 0],
                    [3.81e-16, 0], [-1.12708e-13, 0], [3.13092e-13, 0], [8.94487e-13, 0],
                    [-6.886027e-12, 0], [2.394038e-12, 0], [9.6467911e-11, 0], [-2.27365122e-10, 0],
                    [-9.91364156e-10, 0], [5.059343495e-9, 0], [6.529054439e-9, 0], [-8.5238095915e-8, 0],
                    [1.5626441722e-8, 0], [1.303655835580e-6, 0], [-1.624290004647e-6, 0],
                    [-2.0278578112534e-5, 0], [4.2523324806907e-5, 0], [3.66839497852761e-4, 0],
                    [-9.46595344482036e-4, 0], [-9.561514786808631e-3, 0], [1.9476473204185836e-2, 0],
                    [6.4196979235649026e-1, 0]
                ],
                lambda sums, term: [(4 * v.t - 2) * sums[1] - sums[2] + term[1], sums[1]],
                [cast(0 as double), cast(0 as double)]
            )
        ],
        lambda sums: v.t * exp(
            -v.z * v.z + 0.5 * (-1.3026537197817094 + (4 * v.t - 2) * sums[1]) - sums[2]
        ) / 2
    )[1]
)[1] * case when x > 0 then -1 else 1 end + case when x > 0 then 1 else 0 end;
