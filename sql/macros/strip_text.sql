-- A text without the white space at its ends: Python's `str.strip`.
-- One text.
-- NULL for NULL.
-- Source: `white_space`; anchored patterns, because DuckDB's trim with a list of characters reads it for each
-- one, and a look at the ends first, because most texts have nothing to strip.
create or replace macro strip_text(text) as
    case
        when ord(text) between 33 and 126 and regexp_matches(text, '[!-~]\z') then text
        else regexp_replace(
            regexp_replace(text, '[' || white_space() || ']+\z', ''), '\A[' || white_space() || ']+', ''
        )
    end;
