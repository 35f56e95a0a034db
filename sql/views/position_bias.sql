-- Whether a model prefers a place among the options, or a judge a place among the answers.
-- One row per (run_id, model, prompt, scorer, metric, letter): options of a question, or the two answers shown to a judge of preference.
-- Shares in [0, 1]; NULL: see reason. What is not answered counts in accuracy as the task says, and names no letter. Only targets that are one letter have a place.
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
                not_negative(
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
),

vote as (
    select
        counted_grades.run_id,
        counted_grades.task,
        counted_grades.model,
        counted_grades.prompt,
        counted_grades.scorer,
        counted_grades.metric,
        unnest(string_split(counted_grades.extracted, ', ')) as letter
    from counted_grades
    where
        counted_grades.type = 'judge'
        and counted_grades.metric = 'score'
        and regexp_full_match(counted_grades.extracted, '(A|B|tie)(, (A|B|tie))*')
),

vote_total as (
    select
        vote.run_id,
        vote.task,
        vote.model,
        vote.prompt,
        vote.scorer,
        vote.metric,
        count(*) as n,
        count(*) filter (where vote.letter = 'A') as n_first,
        count(*) filter (where vote.letter = 'B') as n_second
    from vote
    group by
        vote.run_id,
        vote.task,
        vote.model,
        vote.prompt,
        vote.scorer,
        vote.metric
),

shown as (
    select
        place.run_id,
        place.task,
        place.model,
        place.prompt,
        place.scorer,
        place.metric,
        'answer' as chooser,
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
    union all
    select
        vote_total.run_id,
        vote_total.task,
        vote_total.model,
        vote_total.prompt,
        vote_total.scorer,
        vote_total.metric,
        'judge' as chooser,
        side.position,
        chr(cast(64 + side.position as integer)) as letter,
        vote_total.n,
        null as n_gold,
        case when side.position = 1 then vote_total.n_first else vote_total.n_second end as n_answers,
        0.5 as share_gold,
        case when side.position = 1 then vote_total.n_first else vote_total.n_second end
        / nullif(vote_total.n_first + vote_total.n_second, 0) as share_answers,
        case when side.position = 1 then vote_total.n_first else vote_total.n_second end
        / nullif(vote_total.n_first + vote_total.n_second, 0) - 0.5 as excess,
        null as accuracy,
        null as precision,
        null as recall_spread,
        case
            when vote_total.n_first + vote_total.n_second = 0 then 'all votes are ties'
            else 'a preference has no right letter'
        end as reason
    from vote_total
    cross join range(1, 3) as side (position)
)

select
    shown.run_id,
    shown.task,
    shown.model,
    shown.prompt,
    shown.scorer,
    shown.metric,
    shown.chooser,
    shown.position,
    shown.letter,
    shown.n,
    shown.n_gold,
    shown.n_answers,
    shown.share_gold,
    shown.share_answers,
    shown.excess,
    shown.accuracy,
    shown.precision,
    shown.recall_spread,
    shown.reason
from shown
order by
    shown.run_id asc,
    shown.scorer asc,
    shown.metric asc,
    shown.model asc,
    shown.prompt asc,
    shown.position asc;

comment on view position_bias is 'Whether a model prefers a place among the options, or a judge a place among the answers.';
comment on column position_bias.run_id is 'Run.';
comment on column position_bias.task is 'Name of the spec.';
comment on column position_bias.model is 'Display name of the model.';
comment on column position_bias.prompt is 'Name of the prompt.';
comment on column position_bias.scorer is 'Name of the scorer.';
comment on column position_bias.metric is 'Metric of the scorer.';
comment on column position_bias.chooser is 'answer: the model among the options; judge: a judge of preference among the answers it was shown.';
comment on column position_bias.position is 'Place of the option in the order shown, from 1.';
comment on column position_bias.letter is 'Its letter.';
comment on column position_bias.n is 'Trials of the entrant that count; of a judge, votes that could be read.';
comment on column position_bias.n_gold is 'Trials in which the right option stood here; NULL for a judge.';
comment on column position_bias.n_answers is 'Answers, or votes, that named this letter.';
comment on column position_bias.share_gold is 'n_gold of all trials; of a judge 1/2, since each answer stands first as often as the other.';
comment on column position_bias.share_answers is 'n_answers of all that named a letter; ties of a judge name none.';
comment on column position_bias.excess is 'share_answers minus share_gold: above 0, the letter is named too often.';
comment on column position_bias.accuracy is 'Mean score of the trials in which the right option stood here (recall).';
comment on column position_bias.precision is 'Share of the answers with this letter that are right.';
comment on column position_bias.recall_spread is 'Standard deviation of accuracy over the places; 0 is no bias. The same in all rows of an entrant.';
comment on column position_bias.reason is 'Why a number is NULL; NULL if none is.';
