-- Empty lists of the further metrics of a scorer: what was measured, and what is measured for which targets.
-- `measure` has one row per judged answer and metric, `expected` one per list of targets and metric.
-- Both leave out the metric `score`; targets are NULL for samples without.
-- Source: Python fills them.
create or replace temp table measure (
    row bigint,
    metric varchar,
    score double,
    extracted varchar,
    detail varchar
);
create or replace temp table expected (
    targets varchar[],
    metric varchar
)
