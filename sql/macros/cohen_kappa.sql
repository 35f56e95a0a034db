-- Agreement beyond chance, from the agreement seen and that of two raters who do not look.
-- A number <= 1: 1 is full agreement, 0 is chance, below 0 is worse than chance.
-- NULL where both raters give one and the same verdict to everything: chance explains it all.
-- Source: (observed - expected) / (1 - expected) (Cohen 1960).
create or replace macro cohen_kappa(observed, expected) as
(observed - expected) / nullif(1 - expected, 0);
