-- Those of several targets that are not among the ones present.
-- One list.
-- NULL where there are no targets.
-- Source: `targets_present`.
create or replace macro targets_missing(targets, present) as
    list_filter(targets, lambda target: not list_contains(present, target));
