-- A text whose numbers have lost their thousands separators and the zeros behind the point.
-- One text: 1,234,567 becomes 1234567 and 18.00 becomes 18.
-- NULL for NULL.
-- Source: counting only; commas go in two passes, since a match takes the digit that the next one needs.
create or replace macro whole_numbers(text) as
    regexp_replace(
        regexp_replace(regexp_replace(text, '(\d),(\d\d\d)', '\1\2', 'g'), '(\d),(\d\d\d)', '\1\2', 'g'),
        '(\d)\.0+(\D|$)',
        '\1\2',
        'g'
    );
