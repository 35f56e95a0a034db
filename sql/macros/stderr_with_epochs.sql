-- Standard error of a mean over n samples that are each asked k times.
-- A number >= 0; k may be infinity, which leaves the spread between samples alone.
-- NULL where a variance is not known, or there is no sample.
-- Source: sqrt((between + within / k) / n), the mean of a one-way random-effects design (Miller 2024, arXiv 2411.00640, 3.1).
create or replace macro stderr_with_epochs(between_variance, within_variance, n_samples, k) as
sqrt((between_variance + within_variance / k) / nullif(n_samples, 0));
