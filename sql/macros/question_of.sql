-- What a trial asked, to be read by a person.
-- Text of the last message, if it is plain; else the dataset row as JSON.
-- NULL where neither is known.
-- Source: the messages sent, a JSON list of {role, content}; the row, as JSON.
create or replace macro question_of(messages, sample) as
coalesce(
    case
        when json_valid(messages) and json_type(messages, '$[#-1].content') = 'VARCHAR'
            then json_extract_string(messages, '$[#-1].content')
    end,
    cast(sample as varchar)
);
