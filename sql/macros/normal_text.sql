-- A text after the steps of `exact` and `includes` that SQL takes; each is a constant truth value.
-- One text.
-- NULL for NULL.
-- Source: `lower_text`, `collapse_text`, `strip_text`; their order does not matter among themselves. The
-- common branches come first, because constants are not folded inside a lambda.
create or replace macro normal_text(text, is_lower, is_collapsed, is_stripped) as
    case
        when not (is_lower or is_collapsed) then case when is_stripped then strip_text(text) else text end
        when is_lower and is_collapsed and is_stripped then strip_text(collapse_text(lower_text(text)))
        when is_lower and is_collapsed then collapse_text(lower_text(text))
        when is_lower and is_stripped then strip_text(lower_text(text))
        when is_collapsed and is_stripped then strip_text(collapse_text(text))
        when is_lower then lower_text(text)
        else collapse_text(text)
    end;
