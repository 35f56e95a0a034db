-- Patterns that RE2 can search.
-- One row per pattern.
-- Never NULL.
-- Source: the table `pattern`.
select
    pattern.number,
    pattern.translated,
    pattern.is_ascii_only,
    pattern.can_match_empty
from pattern
where
    pattern.translated is not null
    and pattern.fault is null
order by pattern.number asc
