-- The characters that Python's `str.strip` and `\s` take for white space, for use inside a regex class.
-- One text.
-- Never NULL.
-- Source: str.isspace of every code point; DuckDB's own trim and \s know only some of them.
create or replace macro white_space() as
    '\t-\r\x1c-\x20\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}';
