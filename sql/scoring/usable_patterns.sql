-- Takes back translations that RE2 refuses, such as patterns that grow too large.
-- One row per such pattern.
-- translated becomes NULL: Python must search.
-- Source: the table `pattern`.
update pattern
set translated = null
where try(regexp_matches('', pattern.translated)) is null
