-- Grades that would change.
-- One row per trial x metric whose score, outcome or extraction differs.
-- NULL old_*: not graded before under this name and metric; NULL target and new_*: this metric would be gone.
-- Source: the table `flip`; its change is `same` where only outcome or extraction differ.
select
    $run_id as run_id,
    $scorer as scorer,
    flip.metric,
    flip.model,
    flip.prompt,
    flip.sample_id,
    flip.epoch,
    flip.target,
    flip.old_extracted,
    flip.new_extracted,
    flip.old_outcome,
    flip.new_outcome,
    flip.old_score,
    flip.new_score,
    flip.change,
    flip.cause
from flip
where flip.is_other
order by
    flip.model asc,
    flip.prompt asc,
    flip.sample_id asc,
    flip.epoch asc,
    flip.metric asc
