-- A text cut after so many characters, with an ellipsis where it was.
-- One text.
-- NULL for NULL.
-- Source: counting only.
create or replace macro shortened(text, n_characters) as
    case when length(text) > n_characters then left(text, n_characters) || chr(8230) else text end;
