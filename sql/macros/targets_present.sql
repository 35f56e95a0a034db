-- Those of several targets that stand in a text after the same steps; the text has taken them already.
-- One list of targets as they were given.
-- NULL where there are no targets. A blank target stands in nothing.
-- Source: `normal_text`.
create or replace macro targets_present(text, targets, is_lower, is_collapsed, is_stripped) as
    list_filter(
        targets,
        lambda target: not is_blank(target)
        and contains(text, normal_text(target, is_lower, is_collapsed, is_stripped))
    );
