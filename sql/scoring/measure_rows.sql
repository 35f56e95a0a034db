-- Further metrics that Python measured.
-- One row per answer and metric.
-- extracted and detail are NULL where there is nothing to say.
-- Source: lists of equal length.
insert into measure
select
    unnest($rows::bigint[]) as row,
    unnest($metrics::varchar[]) as metric,
    unnest($scores::double[]) as score,
    unnest($extracted::varchar[]) as extracted,
    unnest($details::varchar[]) as detail
