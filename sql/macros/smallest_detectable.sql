-- Difference that a two-sided test at 5 % finds with 80 % power.
-- A number > 0, in the unit of the standard error, with df degrees of freedom.
-- NULL where the standard error is NULL or 0, or df < 1.
-- Source: (t(0.975, df) + z(0.8)) x stderr (Bloom 1995; Miller 2024, section 5).
create or replace macro smallest_detectable(stderr, df) as
case
    when stderr > 0 then (t_quantile_975(df) + 0.8416212335729143) * stderr
end;
