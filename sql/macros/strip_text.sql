-- A text without the white space at its ends: Python's `str.strip`.
-- One text.
-- NULL for NULL.
-- Source: `white_space`; anchored patterns, because DuckDB's trim with a list of characters reads it for each one.
create or replace macro strip_text(text) as
    regexp_replace(
        regexp_replace(text, '[' || white_space() || ']+\z', ''), '\A[' || white_space() || ']+', ''
    );
