-- A text in lower case as Python's `str.lower` gives it, but for the final sigma, which counts as any other.
-- One text.
-- NULL for NULL.
-- Source: U+0130 is the one character whose lower case is two, and DuckDB drops the second.
create or replace macro lower_text(text) as
    case
        when strlen(text) = length(text) then lower(text)
        else replace(lower(replace(text, chr(304), 'i' || chr(775))), chr(962), chr(963))
    end;
