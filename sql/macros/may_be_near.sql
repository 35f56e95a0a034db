-- Whether a number may be within the tolerance of one of several, both as canonical texts.
-- One truth value; false only if it is too far even with the error of floating point.
-- Never NULL where there are targets.
-- Source: `gradetrail.scoring.numbers.is_within` decides exactly.
create or replace macro may_be_near(key, targets, abs_tol, rel_tol) as
    list_bool_or(
        list_transform(
            targets,
            lambda target: coalesce(
                not isfinite(try_cast(key as double) * try_cast(target as double))
                or abs(try_cast(key as double) - try_cast(target as double))
                <= greatest(abs_tol, rel_tol * abs(try_cast(target as double))) * 1.000001
                + 1e-12 * (abs(try_cast(key as double)) + abs(try_cast(target as double))),
                true
            )
        )
    );
