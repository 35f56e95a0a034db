-- Limits of a gate by what they are for: `scorer`, `task/scorer`, each also with `:metric`.
-- A map to structs (at_most, is_relative).
-- NULL is an empty map; a relative limit is a share of the base's mean.
-- Source: not applicable; a type for an argument.
create or replace macro drop_limits(limits) as
coalesce(
    cast(limits as map (varchar, struct(at_most double, is_relative boolean))),
    map()
);
