"""What a scorer needs of each sample, rendered: targets, options, patterns, switches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import orjson

from gradetrail.dataset import parse_row
from gradetrail.prompt import Renderer, RenderError, render

if TYPE_CHECKING:
    import pyarrow as pa

TEMPLATED = ("pattern", "switch", "program", "checks", "stdin", "stdout", "label")
"""Columns that a scorer may ask to have rendered for each sample."""
LISTS = ("targets", "choices")


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
