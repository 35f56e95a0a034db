-- The trials of one run as they stand.
-- One row per trial of the run $run_id; none if the run is not known.
-- NULL response_id means that the trial is not answered.
-- Source: the stored table `trials`.
select
    trials.model,
    trials.model_id,
    trials.prompt,
    trials.sample_id,
    trials.sample_hash,
    trials.epoch,
    trials.input_hash,
    trials.request_key,
    trials.response_id,
    trials.status,
    trials.error_type
from trials
where trials.run_id = $run_id
