-- Scores of the ranked entrants, sample by sample, on boards with two or more of them.
-- One row per (row_no, sample_id): an entrant of a board and a sample that it has a score of.
-- worth is the mean score of the sample's epochs, turned so that more is better.
-- Source: scores of the runs that show the entrants; `placed` is board_rows, or some of its rows.
create or replace macro contest_scores(placed) as table
with repeated_run as (
    select manifests.run_id
    from manifests
    where manifests.epochs > 1
),

contest as (
    select placed.*
    from query_table(placed) as placed
    where
        placed.is_ranked
        and placed.n_ranked >= 2
)

select
    contest.row_no,
    contest.board_no,
    scores.sample_id,
    worth_of(
        counted_score(scores.score, scores.outcome, contest.unanswered_score), contest.higher_is_better
    ) as worth,
    scores.target
from scores
inner join contest
    on scores.run_id = contest.run_id
    and scores.model = contest.model
    and scores.prompt = contest.prompt
    and scores.scorer_id = contest.scorer_id
    and scores.metric = contest.metric
where
    scores.run_id in board_run_ids()
    and contest.epochs = 1
    and counted_score(scores.score, scores.outcome, contest.unanswered_score) is not null
union all
select
    contest.row_no,
    contest.board_no,
    sample_scores.sample_id,
    worth_of(sample_scores.score, contest.higher_is_better) as worth,
    sample_scores.target
from sample_scores
inner join contest
    on sample_scores.run_id = contest.run_id
    and sample_scores.model = contest.model
    and sample_scores.prompt = contest.prompt
    and sample_scores.scorer = contest.scorer
    and sample_scores.scorer_id = contest.scorer_id
    and sample_scores.metric = contest.metric
semi join repeated_run
    on sample_scores.run_id = repeated_run.run_id
where
    sample_scores.run_id in board_run_ids()
    and sample_scores.score is not null;
