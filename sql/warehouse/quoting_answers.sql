-- Answers of other runs that were asked with an answer which a run paid for: by judges, and later turns.
-- One row per (run_id, response_id, quoted, resting_run_id).
-- quoted is the run's answer; resting_run_id is a run with a trial that rests on the row's answer, NULL if none.
-- Source: judges that grades name, and messages that begin with the question and end of the run's answer.
with mine as (
    select
        responses.response_id,
        responses.text,
        concat(left(responses.messages, -1), ',') as beginning
    from responses
    where responses.run_id = $run_id
),

judged as (
    select
        scores.response_id as quoted,
        unnest(scores.judge_response_ids) as response_id
    from scores
    union all
    select
        scores.opponent_response_id as quoted,
        unnest(scores.judge_response_ids) as response_id
    from scores
),

said as (
    select
        responses.run_id,
        responses.response_id,
        responses.messages,
        unnest(from_json(responses.messages, '[{"role": "VARCHAR", "content": "VARCHAR"}]')) as message
    from responses
    where
        responses.run_id <> $run_id
        and contains(responses.messages, '"role":"assistant"')
),

found as (
    select
        responses.run_id,
        responses.response_id,
        judged.quoted
    from judged
    inner join responses on judged.response_id = responses.response_id
    semi join mine on judged.quoted = mine.response_id
    where responses.run_id <> $run_id
    union
    select
        said.run_id,
        said.response_id,
        mine.response_id as quoted
    from said
    inner join mine
        on
            said.message.content = mine.text
            and starts_with(said.messages, mine.beginning)
    where said.message.role = 'assistant'
)

select distinct
    found.run_id,
    found.response_id,
    found.quoted,
    trials.run_id as resting_run_id
from found
left join trials
    on
        found.run_id = trials.response_run_id
        and found.response_id = trials.response_id
order by
    found.run_id asc,
    found.response_id asc,
    found.quoted asc,
    trials.run_id asc nulls first
