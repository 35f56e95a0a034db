-- Those of several keys that stand in a text.
-- One list.
-- NULL where there are no keys. A blank key stands in nothing.
-- Source: counting only.
create or replace macro keys_present(text, keys) as
    list_filter(keys, lambda key: not is_blank(key) and contains(text, key));
