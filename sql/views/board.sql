-- One board over all tasks: the primary scorer of each, and every entrant's mean over them.
-- One row per (model, prompt, task).
-- mean_rescaled runs from 0 (worst) to 1 (best); NULL for an unbounded scorer, which is left out of mean_over_tasks.
-- Source: leaderboard, the first metric of the primary scorer; only ranked rows enter the means over tasks.
create or replace view board as
with placed as (
    select
        leaderboard.task,
        leaderboard.scorer,
        leaderboard.metric,
        leaderboard.model,
        leaderboard.prompt,
        leaderboard.rank,
        leaderboard.mean,
        leaderboard.ci_low,
        leaderboard.ci_high,
        leaderboard.win_rate,
        leaderboard.is_ranked,
        leaderboard.reason,
        leaderboard.run_id,
        case
            when definitions.higher_is_better then leaderboard.mean - definitions.score_min
            else definitions.score_max - leaderboard.mean
        end / nullif(definitions.score_max - definitions.score_min, 0) as mean_rescaled
    from leaderboard
    inner join definitions
        on leaderboard.task = definitions.task
        and leaderboard.scorer = definitions.scorer
        and leaderboard.scorer_id = definitions.scorer_id
    where leaderboard.is_primary
    qualify row_number() over (
        partition by leaderboard.task, leaderboard.model, leaderboard.prompt
        order by
            leaderboard.metric <> 'score' asc,
            leaderboard.metric asc
    ) = 1
),

entrant as (
    select
        placed.model,
        placed.prompt,
        weighted_mean(case when placed.is_ranked then placed.mean_rescaled end, 1) as mean_over_tasks,
        weighted_mean(case when placed.is_ranked then placed.win_rate end, 1) as mean_win_rate,
        count(*) filter (where placed.is_ranked and placed.mean_rescaled is not null) as n_tasks
    from placed
    group by
        placed.model,
        placed.prompt
),

tasks_in_all as (
    select
        count(distinct placed.task) filter (
            where placed.is_ranked and placed.mean_rescaled is not null
        ) as n_tasks
    from placed
)

select
    placed.model,
    placed.prompt,
    placed.task,
    placed.scorer,
    placed.metric,
    placed.rank,
    placed.mean,
    placed.ci_low,
    placed.ci_high,
    placed.mean_rescaled,
    placed.win_rate,
    placed.is_ranked,
    placed.reason,
    entrant.mean_over_tasks,
    entrant.mean_win_rate,
    entrant.n_tasks,
    entrant.n_tasks = tasks_in_all.n_tasks as has_all_tasks,
    placed.run_id,
    case
        when placed.mean is null then 'nothing counts'
        when placed.mean_rescaled is null then 'unbounded scorer'
    end as stats_reason
from placed
inner join entrant
    on placed.model = entrant.model
    and placed.prompt = entrant.prompt
cross join tasks_in_all
order by
    has_all_tasks desc,
    entrant.mean_over_tasks desc nulls last,
    placed.model asc,
    placed.prompt asc,
    placed.task asc;

comment on view board is 'One board over all tasks: the primary scorer of each, and every entrant''s mean over them.';
comment on column board.model is 'Display name of the model.';
comment on column board.prompt is 'Name of the prompt.';
comment on column board.task is 'Name of the spec.';
comment on column board.scorer is 'Primary scorer of the task.';
comment on column board.metric is 'Its first metric.';
comment on column board.rank is 'Rank on the task''s board; NULL below the line.';
comment on column board.mean is 'Mean score.';
comment on column board.ci_low is 'Lower end of its 95 % interval.';
comment on column board.ci_high is 'Upper end of its 95 % interval.';
comment on column board.mean_rescaled is 'Mean score from 0 (worst) to 1 (best); NULL if unbounded.';
comment on column board.win_rate is 'Share of the task''s samples on which the entrant has the best score.';
comment on column board.is_ranked is 'Whether the entrant is ranked on the task.';
comment on column board.reason is 'Why it is not; NULL if ranked.';
comment on column board.mean_over_tasks is 'Mean of mean_rescaled over the tasks on which the entrant is ranked.';
comment on column board.mean_win_rate is 'Mean of win_rate over the tasks on which the entrant is ranked.';
comment on column board.n_tasks is 'Tasks in mean_over_tasks.';
comment on column board.has_all_tasks is 'Whether these are all tasks: means over different tasks do not compare.';
comment on column board.run_id is 'Run that shows the entrant on the task.';
comment on column board.stats_reason is 'Why mean_rescaled is NULL; NULL if it is not.';
