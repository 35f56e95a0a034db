-- A model's answer without the reasoning that it wrote into its text.
-- One text; empty where a trace is never closed, for then there is no final answer.
-- NULL for NULL.
-- Source: pairs of <think>, <thinking> or <reasoning> tags go with what they hold; after a closing tag that
-- nothing opened, what follows the last one is the answer.
create or replace macro final_text(text) as
    case
        when not contains(text, '>') then text
        when not regexp_matches(
            text,
            '</?(?:[Tt][Hh][Ii][Nn][Kk](?:[Ii][Nn][Gg])?|[Rr][Ee][Aa][Ss][Oo][Nn][Ii][Nn][Gg])>'
        ) then text
        else regexp_replace(
            regexp_replace(
                regexp_replace(
                    text,
                    '(?s)<[Tt][Hh][Ii][Nn][Kk]>.*?</[Tt][Hh][Ii][Nn][Kk]>'
                    || '|<[Tt][Hh][Ii][Nn][Kk][Ii][Nn][Gg]>.*?</[Tt][Hh][Ii][Nn][Kk][Ii][Nn][Gg]>'
                    || '|<[Rr][Ee][Aa][Ss][Oo][Nn][Ii][Nn][Gg]>.*?</[Rr][Ee][Aa][Ss][Oo][Nn][Ii][Nn][Gg]>',
                    '',
                    'g'
                ),
                '(?s)\A.*</(?:[Tt][Hh][Ii][Nn][Kk](?:[Ii][Nn][Gg])?|[Rr][Ee][Aa][Ss][Oo][Nn][Ii][Nn][Gg])>',
                ''
            ),
            '(?s)\A.*<(?:[Tt][Hh][Ii][Nn][Kk](?:[Ii][Nn][Gg])?|[Rr][Ee][Aa][Ss][Oo][Nn][Ii][Nn][Gg])>.*\z',
            ''
        )
    end;
