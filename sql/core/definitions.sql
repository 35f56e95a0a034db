-- Definitions that each scorer name of a task has had, with the policy by which its grades count now.
-- One row per (task, scorer, scorer_id).
-- unanswered_score is what an unanswered trial counts; NULL leaves it out of the mean.
-- Source: tasks and scorers; version numbers follow the first use of a definition, `recency` its last.
create or replace table definitions as
with used as (
    select
        tasks.task,
        tasks.scorer,
        tasks.scorer_id,
        min(tasks.n) as first_n,
        max(tasks.n) as last_n,
        arg_max(tasks.position, tasks.n) as position
    from tasks
    group by
        tasks.task,
        tasks.scorer,
        tasks.scorer_id
),

newest as (
    select
        tasks.task,
        max(tasks.n) as n,
        arg_max(tasks.unanswered, tasks.n) as unanswered,
        arg_max(tasks.scorer, tasks.n) filter (where tasks.is_primary) as primary_scorer
    from tasks
    group by tasks.task
)

select
    used.task,
    used.scorer,
    used.scorer_id,
    cast(
        row_number() over (
            partition by used.task, used.scorer
            order by used.first_n asc, used.scorer_id asc
        ) as integer
    ) as scorer_version,
    used.last_n as recency,
    used.last_n = newest.n as is_current,
    used.scorer = newest.primary_scorer as is_primary,
    used.position,
    newest.unanswered,
    scorers.type,
    scorers.score_min,
    scorers.score_max,
    coalesce(scorers.higher_is_better, true) as higher_is_better,
    scorers.pass_threshold,
    case when scorers.higher_is_better then scorers.score_min else scorers.score_max end as worst_score,
    case when scorers.higher_is_better then scorers.score_max else scorers.score_min end as best_score,
    case
        when newest.unanswered = 'exclude' then null
        when scorers.higher_is_better then scorers.score_min
        else scorers.score_max
    end as unanswered_score
from used
inner join newest
    on used.task = newest.task
left join scorers
    on used.scorer_id = scorers.scorer_id;
