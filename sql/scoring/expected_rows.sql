-- Further metrics that there are for the different lists of targets.
-- One row per list of targets and metric.
-- targets are NULL for samples without.
-- Source: lists of equal length.
insert into expected
select
    unnest($targets::varchar[][]) as targets,
    unnest($metrics::varchar[]) as metric
