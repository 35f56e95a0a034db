-- The dataset rows that the trials of the relation `trial_answer` asked about.
-- One row per (sample_id, choice_order).
-- NULL choice_order means that the spec has no choices.
-- Source: the stored table samples.
with asked as (
    select distinct
        trial_answer.dataset_id,
        trial_answer.sample_id,
        trial_answer.choice_order
    from trial_answer
)

select
    asked.sample_id,
    asked.choice_order,
    samples.content
from asked
left join samples
    on asked.dataset_id = samples.dataset_id
    and asked.sample_id = samples.sample_id
order by asked.sample_id asc, asked.choice_order asc nulls first
