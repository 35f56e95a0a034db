-- The words and numbers of a text, in lower case, between single spaces, so that whole ones can be looked for.
-- One text that begins and ends with a space.
-- NULL for NULL.
-- Source: `whole_numbers`; what is no letter, digit, decimal point or sign of a number separates.
create or replace macro spoken_tokens(text) as
    ' '
    || trim(
        regexp_replace(
            regexp_replace(
                regexp_replace(whole_numbers(lower(text)), '\.(\D|$)', ' \1', 'g'),
                '([\pL\pN])-',
                '\1 ',
                'g'
            ),
            '[^\pL\pM\pN.-]+',
            ' ',
            'g'
        )
    )
    || ' ';
