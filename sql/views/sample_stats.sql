-- How each sample behaves over the entrants of its board: how hard, how telling, and whether its label may be wrong.
-- One row per (dataset_id, sample_id, task, scorer, metric), over the ranked entrants; equal rows of several datasets stand under the newest.
-- difficulty from 0 (all best) to 1 (all worst), NULL for an unbounded scorer; discrimination in [-1, 1], NULL: see reason.
-- Source: board_rows; corrected item-total correlation (Ebel and Frisbie 1991, 13; Crocker and Algina 2008, 14), from 10 entrants on.
create or replace view sample_stats as
with placed as materialized (
    select
        board_rows.task,
        board_rows.scorer,
        board_rows.scorer_id,
        board_rows.metric,
        board_rows.model,
        board_rows.prompt,
        board_rows.run_id,
        board_rows.row_no,
        board_rows.board_no,
        board_rows.score_min,
        board_rows.score_max,
        board_rows.higher_is_better
    from board_rows
    where board_rows.is_ranked
),

dataset_row as (
    select
        trials.run_id,
        trials.sample_id,
        min(trials.sample_hash) as sample_hash
    from trials
    where trials.run_id in board_run_ids()
    group by
        trials.run_id,
        trials.sample_id
),

entry as materialized (
    select
        placed.row_no,
        placed.board_no,
        sample_scores.sample_id,
        dataset_row.sample_hash,
        manifests.dataset_id,
        manifests.started_at,
        worth_of(sample_scores.score, placed.higher_is_better) as worth,
        sample_scores.n_counted,
        sample_scores.n_pass
    from placed
    inner join sample_scores
        on placed.run_id = sample_scores.run_id
        and placed.model = sample_scores.model
        and placed.prompt = sample_scores.prompt
        and placed.scorer = sample_scores.scorer
        and placed.scorer_id = sample_scores.scorer_id
        and placed.metric = sample_scores.metric
    inner join dataset_row
        on sample_scores.run_id = dataset_row.run_id
        and sample_scores.sample_id = dataset_row.sample_id
    inner join manifests
        on placed.run_id = manifests.run_id
    where
        sample_scores.score is not null
        and sample_scores.run_id in board_run_ids()
),

whole as (
    select
        entry.row_no,
        count(*) as n,
        exact_sum(entry.worth) as worth_sum
    from entry
    group by entry.row_no
),

compared as (
    select
        entry.*,
        round((whole.worth_sum - entry.worth) / nullif(whole.n - 1, 0), 12) as others
    from entry
    inner join whole
        on entry.row_no = whole.row_no
),

item as (
    select
        compared.board_no,
        compared.sample_id,
        compared.sample_hash,
        arg_max(compared.dataset_id, (compared.started_at, compared.dataset_id)) as dataset_id,
        count(*) as n_entrants,
        cast(sum(compared.n_counted) as bigint) as n,
        cast(sum(compared.n_pass) as bigint) as n_pass,
        min(compared.worth) as worth_low,
        min(compared.others) as others_low,
        min(compared.worth) = max(compared.worth) as is_constant,
        min(compared.others) = max(compared.others) as is_same_elsewhere,
        count(compared.others) as n_others,
        exact_sum(compared.worth) as worth_sum
    from compared
    group by
        compared.board_no,
        compared.sample_id,
        compared.sample_hash
),

-- from the least score on, so that squares keep what scores far from 0 differ by
shifted as (
    select
        compared.board_no,
        compared.sample_id,
        compared.sample_hash,
        item.n_entrants,
        compared.worth - item.worth_low as worth,
        compared.others - item.others_low as others
    from compared
    inner join item
        on compared.board_no = item.board_no
        and compared.sample_id = item.sample_id
        and compared.sample_hash = item.sample_hash
    where
        item.n_others >= 10
        and not item.is_constant
        and not item.is_same_elsewhere
),

moment as (
    select
        shifted.board_no,
        shifted.sample_id,
        shifted.sample_hash,
        exact_sum(shifted.worth * shifted.others)
        - exact_sum(shifted.worth) * exact_sum(shifted.others) / shifted.n_entrants as products,
        not_negative(
            exact_sum(shifted.worth * shifted.worth)
            - exact_sum(shifted.worth) * exact_sum(shifted.worth) / shifted.n_entrants
        ) as worth_squares,
        not_negative(
            exact_sum(shifted.others * shifted.others)
            - exact_sum(shifted.others) * exact_sum(shifted.others) / shifted.n_entrants
        ) as others_squares
    from shifted
    group by
        shifted.board_no,
        shifted.sample_id,
        shifted.sample_hash,
        shifted.n_entrants
),

failing_answer as (
    select
        placed.board_no,
        scores.sample_id,
        scores.extracted,
        count(distinct placed.row_no) as n
    from scores
    inner join placed
        on scores.run_id = placed.run_id
        and scores.model = placed.model
        and scores.prompt = placed.prompt
        and scores.scorer_id = placed.scorer_id
        and scores.metric = placed.metric
    where
        scores.run_id in board_run_ids()
        and not scores.is_pass
        and scores.extracted is not null
    group by
        placed.board_no,
        scores.sample_id,
        scores.extracted
),

common_answer as (
    select
        failing_answer.board_no,
        failing_answer.sample_id,
        failing_answer.extracted,
        failing_answer.n
    from failing_answer
    qualify row_number() over (
        partition by failing_answer.board_no, failing_answer.sample_id
        order by
            failing_answer.n desc,
            failing_answer.extracted asc
    ) = 1
),

board as (
    select distinct
        placed.board_no,
        placed.task,
        placed.scorer,
        placed.scorer_id,
        placed.metric,
        placed.score_min,
        placed.score_max,
        placed.higher_is_better,
        definitions.pass_threshold
    from placed
    inner join definitions
        on placed.task = definitions.task
        and placed.scorer = definitions.scorer
        and placed.scorer_id = definitions.scorer_id
),

measured as (
    select
        item.*,
        board.task,
        board.scorer,
        board.metric,
        board.pass_threshold,
        case when board.higher_is_better then 1 else -1 end * item.worth_sum / item.n_entrants as mean,
        case
            when board.higher_is_better then board.score_max - item.worth_sum / item.n_entrants
            else -item.worth_sum / item.n_entrants - board.score_min
        end / nullif(board.score_max - board.score_min, 0) as difficulty,
        case
            when moment.worth_squares > 0 and moment.others_squares > 0
                then least(
                    1.0,
                    greatest(-1.0, moment.products / sqrt(moment.worth_squares) / sqrt(moment.others_squares))
                )
        end as discrimination,
        common_answer.extracted as common_wrong_answer,
        common_answer.n as n_common_wrong
    from item
    inner join board
        on item.board_no = board.board_no
    left join moment
        on item.board_no = moment.board_no
        and item.sample_id = moment.sample_id
        and item.sample_hash = moment.sample_hash
    left join common_answer
        on item.board_no = common_answer.board_no
        and item.sample_id = common_answer.sample_id
)

select
    measured.dataset_id,
    measured.sample_id,
    measured.task,
    measured.scorer,
    measured.metric,
    measured.n_entrants,
    measured.n,
    measured.n_pass,
    measured.mean,
    measured.difficulty,
    measured.discrimination,
    case when measured.pass_threshold is not null then measured.n_pass = measured.n end as is_all_right,
    case when measured.pass_threshold is not null then measured.n_pass = 0 end as is_all_wrong,
    measured.common_wrong_answer,
    coalesce(measured.n_common_wrong, 0) as n_common_wrong,
    case
        when measured.n_common_wrong >= 3 and 2 * measured.n_common_wrong > measured.n_entrants
            then 'most entrants give one other answer'
        when measured.discrimination <= -0.2 then 'the better entrants fail it'
    end as suspect,
    case
        when measured.n_entrants < 10 then 'fewer than 10 entrants'
        when measured.n_others < 10 then 'fewer than two samples'
        when measured.is_constant then 'all entrants have the same score'
        when measured.is_same_elsewhere then 'all entrants are equal on the other samples'
        when measured.discrimination is null then 'scores are too large, or too close, for squares'
        when measured.difficulty is null then 'unbounded scorer'
    end as reason,
    measured.sample_hash
from measured
order by
    measured.task asc,
    measured.scorer asc,
    measured.metric asc,
    measured.dataset_id asc,
    measured.difficulty desc nulls last,
    measured.sample_id asc;

comment on view sample_stats is 'How each sample behaves over the entrants of its board: how hard, how telling, and whether its label may be wrong.';
comment on column sample_stats.dataset_id is 'Identity of the newest dataset that holds the sample and was asked for the board.';
comment on column sample_stats.sample_id is 'Sample, unique in its dataset.';
comment on column sample_stats.task is 'Name of the spec.';
comment on column sample_stats.scorer is 'Name of the scorer.';
comment on column sample_stats.metric is 'Metric of the scorer.';
comment on column sample_stats.n_entrants is 'Ranked entrants with a score of the sample.';
comment on column sample_stats.n is 'Their scores that count, over all epochs.';
comment on column sample_stats.n_pass is 'Scores that pass.';
comment on column sample_stats.mean is 'Mean score, each entrant weighed once.';
comment on column sample_stats.difficulty is 'Distance of the mean from the best score, as a share of the range: 0 is easy, 1 is hard.';
comment on column sample_stats.discrimination is 'Correlation, over entrants, of the score here with the mean of all other samples.';
comment on column sample_stats.is_all_right is 'Whether every score passes; NULL without a threshold.';
comment on column sample_stats.is_all_wrong is 'Whether no score passes; NULL without a threshold.';
comment on column sample_stats.common_wrong_answer is 'Answer graded wrong that most entrants give; NULL if nothing was extracted from any.';
comment on column sample_stats.n_common_wrong is 'Entrants that give it.';
comment on column sample_stats.suspect is 'Why the label may be wrong: 3 entrants or more, and most of all, give one other answer; or discrimination <= -0.2.';
comment on column sample_stats.reason is 'Why a number is NULL; NULL if none is.';
comment on column sample_stats.sample_hash is 'Content hash of the dataset row.';
