-- Whether a text is empty or white space alone.
-- One truth value.
-- NULL for NULL.
-- Source: `white_space`.
create or replace macro is_blank(text) as regexp_full_match(text, '[' || white_space() || ']*');
