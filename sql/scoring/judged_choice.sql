-- Whether each letter is that of a right option.
-- One row per row of `found` with a letter.
-- score is 1 or 0, NULL with a fault. A target is a letter of the order shown, or else an option's text.
-- Source: the table `found` and the view `subject`.
create or replace temp view judged as
with judged as materialized (
    select
        found.row,
        found.text,
        found.extracted_by,
        found.note,
        subject.choices,
        right_letters(found.targets, subject.choices) as letters
    from found
    inner join subject on found.row = subject.row
    where
        found.text is not null
        and found.targets is not null
)

select
    judged.row,
    case
        when len(judged.letters) > 0 then list_contains(judged.letters, judged.text)::integer::double
    end as score,
    judged.text as extracted,
    judged.extracted_by,
    judged.note as detail,
    case
        when judged.choices is null then 'the sample has no options'
        when coalesce(len(judged.letters), 0) = 0 then 'the target is no letter and no text of the options'
    end as fault
from judged
