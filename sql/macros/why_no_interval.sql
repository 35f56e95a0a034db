-- Why a mean has no standard error and no interval.
-- One text.
-- NULL where it has them; n_clusters is NULL for a run without clusters.
-- Source: counting only.
create or replace macro why_no_interval(n_samples, n_clusters) as
case
    when coalesce(n_samples, 0) = 0 then 'nothing counts'
    when n_samples = 1 then 'one sample'
    when n_clusters = 1 then 'one cluster'
end;
