-- The letters of the right options: a target is a letter of the order shown, or else an option's text.
-- One list of capital letters; a target that is neither is left out.
-- NULL where there are no targets.
-- Source: counting only.
create or replace macro right_letters(targets, choices) as
    list_filter(
        list_transform(
            targets,
            lambda target: case
                when
                    regexp_full_match(strip_text(target), '[A-Za-z]')
                    and ord(upper(strip_text(target))) - 64 <= len(choices)
                    then upper(strip_text(target))
                else chr(
                    64 + list_position(
                        list_transform(choices, lambda choice: strip_text(choice)), strip_text(target)
                    )
                )
            end
        ),
        lambda letter: letter is not null
    );
