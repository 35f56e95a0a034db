-- The stored request that comes nearest to one that has no answer.
-- At most one row: the same messages first, then the same sample, model and epoch; the newest of those.
-- NULL never; no row means that nothing like it was ever asked.
-- Source: the stored tables responses and trials.
with same_sample as (
    select
        trials.request_key,
        bool_or(trials.epoch = $epoch) as is_same_epoch
    from trials
    where trials.sample_id = $sample_id
    group by trials.request_key
)

select
    responses.request,
    responses.messages,
    responses.run_id
from responses
left join same_sample
    on responses.request_key = same_sample.request_key
where
    responses.messages = $messages
    or same_sample.request_key is not null
    or (responses.provider = $provider and responses.model = $model)
order by
    responses.messages = $messages desc,
    same_sample.request_key is not null desc,
    (responses.provider = $provider and responses.model = $model) desc,
    same_sample.is_same_epoch desc nulls last,
    responses.created_at desc,
    responses.run_id desc,
    responses.response_id asc
limit 1
