"""Draws the progress of a generation on stderr: a bar on a terminal, else a line each ten seconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from gradetrail.cli.manner import MANNER
from gradetrail.cli.output import say

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gradetrail.generation.progress import Mean, Progress

LINE_EVERY_S = 10.0
MOST_MEANS = 3
"""Entrants that a line names."""


def summary(progress: Progress, *, is_over: bool = False) -> str:
    """Say in one line how far it is; what only holds for the moment is left out when it is over."""
    parts = [f"{progress.n_done:,}/{progress.n_requests:,} requests", f"{progress.n_hits:,} hits"]
    if progress.means and not is_over:
        parts.append(_means(progress.means))
    if progress.errors:
        parts.append("errors " + ", ".join(f"{kind} {n:,}" for kind, n in sorted(progress.errors.items())))
    if progress.retries:
        parts.append("retried " + ", ".join(f"{kind} {n:,}" for kind, n in sorted(progress.retries.items())))
    elapsed = progress.elapsed_s
    if progress.cost_usd:
        parts.append(f"${progress.cost_usd:.4f}")
    if progress.output_tokens and elapsed > 0:
        parts.append(f"{progress.output_tokens / elapsed:,.0f} tokens/s")
    if progress.limit and not is_over:
        parts.append(f"limit {progress.limit}")
    eta = progress.eta_s
    if eta is not None and progress.n_done < progress.n_requests and not is_over:
        parts.append(f"{_duration(eta)} left")
    return ", ".join(parts)


def ending(progress: Progress) -> str:
    """Say in one line how far it came."""
    return summary(progress, is_over=True)


def _means(means: Mapping[tuple[str, str], Mean]) -> str:
    """Say how the entrants do so far; of many, only how many there are."""
    n = sum(mean.n for mean in means.values())
    if len(means) > MOST_MEANS:
        low, high = (pick(mean.value for mean in means.values()) for pick in (min, max))
        return f"means {low:.3f} to {high:.3f} of {len(means)} entrants, {n:,} answers"
    if len(means) == 1:
        (mean,) = means.values()
        return f"mean {mean.value:.3f} of {n:,}"
    has_prompts = len({prompt for _, prompt in means}) > 1
    names = {pair: f"{pair[0]} / {pair[1]}" if has_prompts else pair[0] for pair in means}
    return (
        "mean " + ", ".join(f"{names[pair]} {mean.value:.3f}" for pair, mean in means.items()) + f" of {n:,}"
    )


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


@contextmanager
def shown_progress() -> Iterator[Callable[[Progress], None]]:
    """Give an observer for the engine, and clean the terminal up at the end."""
    if MANNER.is_quiet or not sys.stderr.isatty():
        yield _telling_the_end(_line_observer(), say)
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (
        BarColumn(bar_width=30),
        TextColumn("{task.percentage:>3.0f}% {task.description}", markup=False),
    )
    bar = Bar(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task("", total=None)

    def observe(progress: Progress) -> None:
        # not before, so that what is said before the first call stands above it
        bar.start()
        bar.update(task, completed=progress.n_done, total=progress.n_requests, description=summary(progress))

    try:
        yield _telling_the_end(observe, partial(bar.console.print, markup=False, highlight=False))
    finally:
        bar.stop()


def _telling_the_end(
    observe: Callable[[Progress], None], tell: Callable[[str], None]
) -> Callable[[Progress], None]:
    """Also say, once, that no further call is started while some are still in flight."""
    is_told = False

    def observe_end(progress: Progress) -> None:
        nonlocal is_told
        if progress.stopping is not None and progress.n_in_flight and not is_told:
            is_told = True
            calls = "1 call" if progress.n_in_flight == 1 else f"{progress.n_in_flight:,} calls"
            tell(f"{progress.stopping}: {calls} in flight may end first; Ctrl-C cuts them")
        observe(progress)

    return observe_end


def _line_observer() -> Callable[[Progress], None]:
    last = time.monotonic()

    def observe(progress: Progress) -> None:
        nonlocal last
        if time.monotonic() - last >= LINE_EVERY_S:
            last = time.monotonic()
            say(summary(progress))

    return observe
