-- Labels of a file.
-- One row per label.
-- NULL as in `label`.
-- Source: lists of equal length.
insert into label
select
    null as row,
    unnest($sample_ids::varchar[]) as sample_id,
    unnest($models::varchar[]) as model,
    unnest($prompts::varchar[]) as prompt,
    unnest($epochs::integer[]) as epoch,
    unnest($runs::varchar[]) as run,
    unnest($raters::varchar[]) as rater,
    unnest($scores::double[]) as score,
    unnest($reasons::varchar[]) as reason,
    null as fault
