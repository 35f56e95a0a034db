-- Whether a model prefers a place among the options: its letters against the right ones.
-- One row per (run_id, model, prompt, scorer, metric, letter) of trials whose target is one letter of options shown.
-- Shares in [0, 1]; NULL where a letter was never the right one. Unanswered trials count in accuracy as the task says, not in answers.
-- Source: counted_grades; recall_spread is RStd, the deviation of recall over the options (Zheng et al. 2024, arXiv 2309.03882).
create or replace view position_bias as
with answered as not materialized (
    select
        counted_grades.run_id,
        counted_grades.task,
        counted_grades.model,
        counted_grades.prompt,
        counted_grades.scorer,
        counted_grades.metric,
        upper(counted_grades.target) as gold,
        case
            when
                counted_grades.raw_score is not null
                and regexp_full_match(counted_grades.extracted, '[A-Za-z]')
                then upper(counted_grades.extracted)
        end as letter,
        counted_grades.score,
        coalesce(json_array_length(trials.choice_order), 0) as n_options
    from counted_grades
    inner join trials
        on counted_grades.run_id = trials.run_id
        and counted_grades.task = trials.task
        and counted_grades.model = trials.model
        and counted_grades.prompt = trials.prompt
        and counted_grades.sample_id = trials.sample_id
        and counted_grades.epoch = trials.epoch
    where
        regexp_full_match(counted_grades.target, '[A-Za-z]')
        and (counted_grades.type = 'choice' or trials.choice_order is not null)
        and counted_grades.score is not null
),

total as not materialized (
    select
        answered.run_id,
        answered.task,
        answered.model,
        answered.prompt,
        answered.scorer,
        answered.metric,
        count(*) as n,
        count(answered.letter) as n_answers,
        cast(
            greatest(
                max(answered.n_options),
                max(ord(answered.gold)) - 64,
                coalesce(max(ord(answered.letter)) - 64, 0)
            ) as bigint
        ) as n_options
    from answered
    group by
        answered.run_id,
        answered.task,
        answered.model,
        answered.prompt,
        answered.scorer,
        answered.metric
),

place as (
    select
        total.*,
        letter.position
    from total
    inner join range(1, 27) as letter (position)
        on total.n_options >= letter.position
),

gold as not materialized (
    select
        answered.run_id,
        answered.task,
        answered.model,
        answered.prompt,
        answered.scorer,
        answered.metric,
        ord(answered.gold) - 64 as position,
        count(*) as n,
        exact_sum(answered.score) as score_sum
    from answered
    group by
        answered.run_id,
        answered.task,
        answered.model,
        answered.prompt,
        answered.scorer,
        answered.metric,
        answered.gold
),

chosen as (
    select
        answered.run_id,
        answered.task,
        answered.model,
        answered.prompt,
        answered.scorer,
        answered.metric,
        ord(answered.letter) - 64 as position,
        count(*) as n,
        count(*) filter (where answered.letter = answered.gold) as n_right
    from answered
    where answered.letter is not null
    group by
        answered.run_id,
        answered.task,
        answered.model,
        answered.prompt,
        answered.scorer,
        answered.metric,
        answered.letter
),

spread as (
    select
        gold.run_id,
        gold.task,
        gold.model,
        gold.prompt,
        gold.scorer,
        gold.metric,
        case
            when min(gold.score_sum / gold.n) = max(gold.score_sum / gold.n) then 0.0
            else sqrt(
                greatest(
                    0.0,
                    exact_sum((gold.score_sum / gold.n) * (gold.score_sum / gold.n)) / count(*)
                    - pow(exact_sum(gold.score_sum / gold.n) / count(*), 2)
                )
            )
        end as recall_spread
    from gold
    group by
        gold.run_id,
        gold.task,
        gold.model,
        gold.prompt,
        gold.scorer,
        gold.metric
    having count(*) >= 2
)

select
    place.run_id,
    place.task,
    place.model,
    place.prompt,
    place.scorer,
    place.metric,
    place.position,
    chr(cast(64 + place.position as integer)) as letter,
    place.n,
    coalesce(gold.n, 0) as n_gold,
    coalesce(chosen.n, 0) as n_answers,
    coalesce(gold.n, 0) / place.n as share_gold,
    coalesce(chosen.n, 0) / nullif(place.n_answers, 0) as share_answers,
    coalesce(chosen.n, 0) / nullif(place.n_answers, 0) - coalesce(gold.n, 0) / place.n as excess,
    gold.score_sum / gold.n as accuracy,
    chosen.n_right / chosen.n as precision,
    spread.recall_spread,
    case
        when place.n_answers = 0 then 'no answer names a letter'
        when gold.n is null then 'never the right letter'
        when chosen.n is null then 'never the answer'
        when spread.recall_spread is null then 'one letter is always right'
    end as reason
from place
left join gold
    on place.run_id = gold.run_id
    and place.task = gold.task
    and place.model = gold.model
    and place.prompt = gold.prompt
    and place.scorer = gold.scorer
    and place.metric = gold.metric
    and place.position = gold.position
left join chosen
    on place.run_id = chosen.run_id
    and place.task = chosen.task
    and place.model = chosen.model
    and place.prompt = chosen.prompt
    and place.scorer = chosen.scorer
    and place.metric = chosen.metric
    and place.position = chosen.position
left join spread
    on place.run_id = spread.run_id
    and place.task = spread.task
    and place.model = spread.model
    and place.prompt = spread.prompt
    and place.scorer = spread.scorer
    and place.metric = spread.metric
order by
    place.run_id asc,
    place.scorer asc,
    place.metric asc,
    place.model asc,
    place.prompt asc,
    place.position asc;

comment on view position_bias is 'Whether a model prefers a place among the options: its letters against the right ones.';
comment on column position_bias.run_id is 'Run.';
comment on column position_bias.task is 'Name of the spec.';
comment on column position_bias.model is 'Display name of the model.';
comment on column position_bias.prompt is 'Name of the prompt.';
comment on column position_bias.scorer is 'Name of the scorer.';
comment on column position_bias.metric is 'Metric of the scorer.';
comment on column position_bias.position is 'Place of the option in the order shown, from 1.';
comment on column position_bias.letter is 'Its letter.';
comment on column position_bias.n is 'Trials of the entrant that count.';
comment on column position_bias.n_gold is 'Trials in which the right option stood here.';
comment on column position_bias.n_answers is 'Answers that named this letter.';
comment on column position_bias.share_gold is 'n_gold of all trials.';
comment on column position_bias.share_answers is 'n_answers of all answers that named a letter.';
comment on column position_bias.excess is 'share_answers minus share_gold: above 0, the letter is named too often.';
comment on column position_bias.accuracy is 'Mean score of the trials in which the right option stood here (recall).';
comment on column position_bias.precision is 'Share of the answers with this letter that are right.';
comment on column position_bias.recall_spread is 'Standard deviation of accuracy over the places; 0 is no bias. The same in all rows of an entrant.';
comment on column position_bias.reason is 'Why a number is NULL; NULL if none is.';
