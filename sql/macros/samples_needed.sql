-- Samples that a paired comparison needs to find a difference, in a two-sided test, with 80 % power.
-- A whole number >= 2; variance is that of the difference between two scores of one sample.
-- NULL where there is no difference or no spread; alpha is the level of the test.
-- Source: (z(1 - alpha / 2) + z(0.8))^2 variance / difference^2 + z(1 - alpha / 2)^2 / 2 (Guenther 1981, for Student's t).
create or replace macro samples_needed(difference, variance, alpha) as
case
    when difference <> 0 and variance > 0
        then greatest(
            2,
            ceil(
                power(normal_quantile(1 - alpha / 2) + 0.8416212335729143, 2)
                * variance / (difference * difference)
                + power(normal_quantile(1 - alpha / 2), 2) / 2
            )
        )
end;
