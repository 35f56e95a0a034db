-- A score turned so that more is better, and so that scores within 1e-12 are equal.
-- A double.
-- NULL for NULL.
-- Source: the sign of `higher_is_better`.
create or replace macro worth_of(score, higher_is_better) as
round(case when higher_is_better then score else -score end, 12);
