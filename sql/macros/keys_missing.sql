-- Those of several keys that are not among the ones present.
-- One list.
-- NULL where there are no keys.
-- Source: `keys_present`.
create or replace macro keys_missing(keys, present) as
    list_filter(keys, lambda key: not list_contains(present, key));
