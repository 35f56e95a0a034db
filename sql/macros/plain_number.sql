-- A plain number as canonical text: no separators, no leading or trailing zeros, the percent sign kept.
-- One text, such as -1234.5 or 35%.
-- NULL for NULL.
-- Source: `gradetrail.scoring.numbers.canonical_decimal`; `mark` is the decimal mark, the other of . and , separates.
create or replace macro plain_number(token, mark) as
    list_transform(
        [
            ltrim(
                rtrim(
                    replace(replace(token, case mark when '.' then ',' else '.' end, ''), mark, '.'), ' %'
                ),
                '-'
            )
        ],
        lambda digits: list_transform(
            [
                ltrim(
                    case when contains(digits, '.') then rtrim(rtrim(digits, '0'), '.') else digits end, '0'
                )
            ],
            lambda shown: case
                when shown = '' then '0'
                else
                    case when starts_with(token, '-') then '-' else '' end
                    || case when starts_with(shown, '.') then '0' else '' end
                    || shown
            end
        )[1]
    )[1]
    || case when ends_with(token, '%') then '%' else '' end;
