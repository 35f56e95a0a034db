-- Whether a text equals one of several targets after the same steps; the text has taken them already.
-- One truth value.
-- NULL where there are no targets. A blank text equals nothing.
-- Source: `normal_text`.
create or replace macro equals_any_target(text, targets, is_lower, is_collapsed, is_stripped) as
    not is_blank(text)
    and list_contains(
        list_transform(targets, lambda target: normal_text(target, is_lower, is_collapsed, is_stripped)), text
    );
