-- A text in which every run of white space is one space.
-- One text.
-- NULL for NULL.
-- Source: `white_space`; Python's `re.sub(r"\s+", " ", text)`. Single spaces are left alone, which is fast.
create or replace macro collapse_text(text) as
    regexp_replace(
        text,
        '[' || white_space() || ']{2,}'
        || '|[\t-\r\x1c-\x1f\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}]',
        ' ',
        'g'
    );
