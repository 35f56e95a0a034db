-- 95 % interval of a mean with a standard error, cut at the bounds of the score.
-- A struct (low, high) for df degrees of freedom; a NULL bound cuts nothing.
-- NULL where the standard error is NULL or df < 1.
-- Source: mean -+ t(0.975, df) * stderr (Student's t).
create or replace macro t_interval(mean, stderr, df, low, high) as
case
    when stderr is not null and df >= 1
        then struct_pack(
            low := greatest(mean - t_quantile_975(df) * stderr, low),
            high := least(mean + t_quantile_975(df) * stderr, high)
        )
end;
