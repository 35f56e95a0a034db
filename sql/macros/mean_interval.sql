-- 95 % interval of a mean score.
-- A struct (low, high): Wilson's for scores of 0 and 1 of a scale from 0 to 1 without clusters, else Student's t cut at the bounds.
-- NULL for fewer than two samples or clusters. Clusters that all agree on 0 or 1 take Wilson's with n = clusters.
-- Source: the macros wilson_interval and t_interval; n_clusters is NULL for a run without clusters.
create or replace macro mean_interval(mean, stderr, is_binary, n_samples, n_clusters, score_min, score_max) as
case
    when coalesce(n_clusters, n_samples) < 2 then null
    when is_binary and score_min = 0 and score_max = 1 and n_clusters is null
        then wilson_interval(round(mean * n_samples), n_samples)
    when is_binary and score_min = 0 and score_max = 1 and stderr = 0
        then wilson_interval(mean * n_clusters, n_clusters)
    else t_interval(mean, stderr, coalesce(n_clusters, n_samples) - 1, score_min, score_max)
end;
