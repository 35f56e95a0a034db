-- Number of the equal-width bin, from 0, that holds a confidence.
-- A whole number in [0, n_bins); a bin is [low, high), the last one is closed.
-- NULL for NULL. Edges are i * (1 / n_bins) as doubles, so that 0.3 with 10 bins is in bin 2, as in numpy.linspace.
-- Source: counting the inner edges that are not above the confidence.
create or replace macro equal_width_bin(confidence, n_bins) as
case
    when confidence is not null
        then len(
            list_filter(
                range(1, n_bins),
                lambda i: i * (cast(1 as double) / n_bins) <= confidence
            )
        )
end;
