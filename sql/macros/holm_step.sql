-- One step of Holm's correction: the p of rank r among m, before the running maximum over smaller ranks.
-- A number in [0, 1]; ranks count from 1, at the smallest p.
-- NULL for a NULL p, which is no part of the family.
-- Source: Holm (1979); the corrected p is max(holm_step) over all ranks up to r.
create or replace macro holm_step(p, r, m) as
case
    when p is not null then least(1.0, p * (m - r + 1))
end;
