-- Whether RE2 takes a pattern.
-- One row.
-- NULL if it refuses the pattern.
-- Source: RE2 itself.
select try(regexp_matches('', $pattern)) as is_match
