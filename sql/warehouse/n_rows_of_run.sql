-- How many trials a run has, and how many answers it paid for.
-- One row.
-- Never NULL.
-- Source: the stored tables trials and responses.
select
    (
        select count(*)
        from trials
        where trials.run_id = $run_id
    ) as n_trials,
    (
        select count(*)
        from responses
        where responses.run_id = $run_id
    ) as n_answers
