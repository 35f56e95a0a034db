-- Standard error of a mean over n units in g clusters; a unit without a cluster is a cluster of one.
-- From sums over clusters: score_sum, score_squares (of a cluster's sum), score_sizes (sum x size), size_squares.
-- NULL for fewer than two clusters, or squares too large for a double; what the rounding of equal clusters leaves is 0.
-- Source: sandwich estimator, small-sample factor g / (g - 1) (Miller 2024, arXiv 2411.00640); g = n gives s / sqrt(n).
create or replace macro clustered_stderr(g, n, score_sum, score_squares, score_sizes, size_squares) as
case
    when g >= 2
        then sqrt(
            list_transform(
                [
                    score_squares
                    - 2 * (score_sum / n) * score_sizes
                    + (score_sum / n) * (score_sum / n) * size_squares
                ],
                lambda squares: case
                    when squares > 1e-14 * score_squares then not_negative(squares)
                    when isfinite(squares) then 0.0
                end
            )[1] * g / (g - 1)
        ) / n
end;
