"""What a scorer needs of each sample, rendered: targets, options, patterns, switches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import orjson

from gradetrail.dataset import parse_row
from gradetrail.errors import Fault, SpecError
from gradetrail.prompt import Renderer, RenderError, render

if TYPE_CHECKING:
    import pyarrow as pa

TEMPLATED = ("pattern", "switch", "program", "checks", "stdin", "stdout", "label")
"""Columns that a scorer may ask to have rendered for each sample."""
LISTS = ("targets", "choices")
FAULTS_SHOWN = 10


class InputFaults:
    """Collects the samples of a run that a template cannot be rendered for."""

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id
        self._found: list[tuple[str, str]] = []

    def note(self, sample_id: str, error: RenderError) -> None:
        """Add a sample."""
        self._found.append((sample_id, str(error)))

    def check(self) -> None:
        """Raise SpecError with the first samples, if there are any."""
        if not self._found:
            return
        shown = sorted(self._found, key=lambda pair: pair[0])[:FAULTS_SHOWN]
        faults = [
            Fault(message, f"run {self._run_id}, sample {sample_id}", "target or scorer template")
            for sample_id, message in shown
        ]
        n_more = len(self._found) - len(shown)
        raise SpecError(*faults, *([Fault(f"and {n_more} more")] if n_more else []))


def rendered_inputs(
    renderer: Renderer,
    target: str | list[str] | None,
    templates: Mapping[str, str],
    asked: Iterable[tuple[str, str | None, str]],
    note: Callable[[str, RenderError], None] | None = None,
) -> pa.Table:
    """Render for each (sample_id, choice_order, content): columns of the relation `grading_input`.

    A sample that a template cannot be rendered for is noted and left out; without `note` its
    RenderError is raised.
    """
    import pyarrow as pa

    rows: dict[str, list[Any]] = {name: [] for name in ("sample_id", "choice_order", *LISTS, *TEMPLATED)}
    for sample_id, order_text, content in asked:
        order = orjson.loads(order_text) if order_text else None
        try:
            values, _ = renderer.values(parse_row(content), sample_id, 1, order)
            targets = renderer.targets(target, values)
            rendered = {name: render(text, values) for name, text in templates.items()}
        except RenderError as error:
            if note is None:
                raise
            note(sample_id, error)
            continue
        rows["sample_id"].append(sample_id)
        rows["choice_order"].append(order_text)
        rows["targets"].append(targets)
        rows["choices"].append(list(values["choices"]) if order is not None else None)
        for name in TEMPLATED:
            rows[name].append(rendered.get(name))
    kinds = {name: pa.list_(pa.string()) if name in LISTS else pa.string() for name in rows}
    return pa.table({name: pa.array(values, kinds[name]) for name, values in rows.items()})
