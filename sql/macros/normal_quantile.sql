-- Quantile of the standard normal distribution.
-- A number for p in (0, 1).
-- NULL for p outside (0, 1); absolute error below 1e-8.
-- Source: rational approximation by P. J. Acklam (2003).
create or replace macro normal_quantile(p) as
case
    when p is null or p <= 0 or p >= 1 then null
    when p < 0.02425 or p > 0.97575
        then list_transform(
            [sqrt(-2 * ln(least(p, 1 - p)))],
            lambda q: (
                ((((-7.784894002430293e-03 * q - 3.223964580411365e-01) * q - 2.400758277161838e+00) * q
                - 2.549732539343734e+00) * q + 4.374664141464968e+00) * q + 2.938163982698783e+00
            ) / (
                (((7.784695709041462e-03 * q + 3.224671290700398e-01) * q + 2.445134137142996e+00) * q
                + 3.754408661907416e+00) * q + 1
            )
        )[1] * case when p > 0.5 then -1 else 1 end
    else list_transform(
        [cast(p as double) - 0.5],
        lambda q: q * (
            ((((-3.969683028665376e+01 * q * q + 2.209460984245205e+02) * q * q
            - 2.759285104469687e+02) * q * q + 1.383577518672690e+02) * q * q
            - 3.066479806614716e+01) * q * q + 2.506628277459239e+00
        ) / (
            ((((-5.447609879822406e+01 * q * q + 1.615858368580409e+02) * q * q
            - 1.556989798598866e+02) * q * q + 6.680131188771972e+01) * q * q
            - 1.328068155288572e+01) * q * q + 1
        )
    )[1]
end;
