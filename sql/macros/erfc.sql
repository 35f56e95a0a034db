-- Complementary error function of z >= 0.
-- A number in (0, 1].
-- NULL for NULL; relative error below 1e-13.
-- Source: 28 Chebyshev terms in t = 2 / (2 + z) (Press et al., Numerical Recipes, 3rd ed., 6.2.2); T(j, u) = cos(j acos u).
create or replace macro erfc(z) as
2 / (2 + z) * exp(
    list_sum(
        list_transform(
            range(0, 28),
            lambda j: cos(j * acos(4 / (2 + z) - 1)) * [
                -0.6513268598908547, 6.4196979235649026e-1, 1.9476473204185836e-2, -9.561514786808631e-3,
                -9.46595344482036e-4, 3.66839497852761e-4, 4.2523324806907e-5, -2.0278578112534e-5,
                -1.624290004647e-6, 1.303655835580e-6, 1.5626441722e-8, -8.5238095915e-8,
                6.529054439e-9, 5.059343495e-9, -9.91364156e-10, -2.27365122e-10,
                9.6467911e-11, 2.394038e-12, -6.886027e-12, 8.94487e-13,
                3.13092e-13, -1.12708e-13, 3.81e-16, 7.106e-15,
                -1.523e-15, -9.4e-17, 1.21e-16, -2.8e-17
            ][j + 1]
        )
    ) - z * z
);
