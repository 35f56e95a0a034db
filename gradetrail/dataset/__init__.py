"""Turns any supported file or DataFrame into one Arrow table of samples.

Invariant: ids and hashes follow from content alone, and data is never retyped. All faults of a
dataset are shown together, each with its place; a selection keeps dataset order.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

from gradetrail.dataset.columns import Texts
from gradetrail.dataset.contents import Contents
from gradetrail.dataset.findings import Findings
from gradetrail.dataset.rows import JsonFloat, field_text, json_text, parse_row
from gradetrail.dataset.selection import Selection, check_selection, choose
from gradetrail.errors import DatasetError, Fault, did_you_mean

if TYPE_CHECKING:
    import pyarrow as pa

    from gradetrail.dataset.collect import Collected
    from gradetrail.dataset.columns import TextColumn
    from gradetrail.dataset.source import Source
    from gradetrail.spec import Spec

__all__ = ["JsonFloat", "Samples", "Selection", "json_text", "load_samples", "missing_files", "parse_row"]


@dataclass(frozen=True, slots=True)
class Samples:
    """A dataset, and the part of it that was selected."""

    dataset_id: str
    """Identity of all rows, before selection."""
    index: pa.Table
    """sample_id, sample_hash: every row, in dataset order."""
    chosen: pa.Table
    """sample_id, sample_hash, position, category, cluster: the selected rows, same order."""
    contents: Contents
    """JSON text of every row, by position."""
    warnings: tuple[str, ...]
    """What was repaired or renamed."""

    @property
    def everything(self) -> pa.Table:
        """All rows in memory: dataset_id, sample_id, sample_hash, position, content."""
        import pyarrow as pa

        return pa.concat_tables(self.batches(everything=True))

    @property
    def selected(self) -> pa.Table:
        """The selected rows in memory: sample_id, sample_hash, position, content, category, cluster."""
        import pyarrow as pa

        return pa.concat_tables(self.batches())

    def content(self, number: int) -> str:
        """Give the JSON text of the selected row of that number, from 0."""
        return self.contents[self.chosen.column("position")[number].as_py()]

    def batches(self, *, everything: bool = False) -> Iterator[pa.Table]:
        """Yield the selected rows, or all rows as they are stored, some megabytes at a time."""
        import pyarrow as pa

        at = 0
        positions = None if everything else self._positions()
        for texts in self.contents.chunks(positions):
            content = pa.array(texts, pa.string())
            if everything:
                rows = self.index.slice(at, len(texts))
                yield pa.table(
                    {
                        "dataset_id": pa.repeat(pa.scalar(self.dataset_id), len(texts)),
                        "sample_id": rows.column("sample_id"),
                        "sample_hash": rows.column("sample_hash"),
                        "position": pa.array(range(at, at + len(texts)), pa.int64()),
                        "content": content,
                    }
                )
            else:
                yield self.chosen.slice(at, len(texts)).add_column(3, "content", content)
            at += len(texts)

    def _positions(self) -> Sequence[int] | None:
        """Give the places of the selected rows; None for all."""
        if self.chosen.num_rows == self.index.num_rows:
            return None
        return array("q", cast("list[int]", self.chosen.column("position").to_pylist()))


def load_samples(
    spec: Spec,
    selection: Selection = Selection(),
    frame: object | None = None,
    *,
    block: Literal["dataset", "few_shot"] = "dataset",
) -> Samples:
    """Load a spec's dataset, or `frame` in its place, and select from it.

    `frame` is a DataFrame (polars, pandas, pyarrow, ...) or a list of mappings; `block` is the one of the
    spec's file that names the dataset. Raises DatasetError with every fault that was found, at its row if
    it has one, else at its line of the spec; SelectionError if nothing is left.
    """
    try:
        return _loaded(spec, selection, frame)
    except DatasetError as error:
        if frame is not None:
            raise
        raise DatasetError(*(_in_spec(spec, fault, block) for fault in error.faults)) from error.__cause__


def _in_spec(spec: Spec, fault: Fault, block: str = "dataset") -> Fault:
    """Place a fault that has no row at the line of the spec that names the dataset, if there is a file."""
    option = "query" if fault.where == "query" else "path"
    place = spec.where(block, option)
    is_count = not fault.where and not fault.field
    if place == "spec" or is_count or fault.where.startswith("--") or _ROW.search(fault.where):
        return fault
    message = ": ".join(part for part in (fault.where, fault.field, fault.message) if part)
    return Fault(message, place, f"{block}.{option}", fault.fix)


_ROW = re.compile(r"(:| row )[0-9]+$")
"""How the place of a row, or of a line, ends."""


def _loaded(spec: Spec, selection: Selection, frame: object | None) -> Samples:
    import pyarrow as pa

    from gradetrail.dataset.collect import collect
    from gradetrail.dataset.ids import dataset_id
    from gradetrail.dataset.source import file_sources, frame_source

    check_selection(selection)
    findings = Findings()
    sources = file_sources(spec, findings) if frame is None else [frame_source(frame)]
    findings.check()
    if spec.dataset.query is not None:
        sources = [_queried(spec, sources, findings)]
    rows = collect(sources, findings, spec.dataset.id or "id")
    findings.check()
    if not len(rows.places):
        fix = "write one row for each sample, or name another file"
        findings.fault("there are no rows", fix, sources[0].part().name)
    findings.check()
    ids = _sample_ids(spec, rows, findings)
    findings.check()
    identity = dataset_id(ids, rows.hashes)
    # in one piece, so that trials can refer to it as a dictionary
    index = pa.table({"sample_id": ids, "sample_hash": rows.hashes}).combine_chunks()
    keeps = _conditions(spec, selection, sources, rows, findings)
    if selection.seed is not None and selection.sample is None:
        findings.warn("--seed has no effect without --sample")
    places = choose(Texts(ids), spec.dataset, selection, keeps)
    chosen = _chosen(spec, index, places, rows, findings)
    findings.check()
    return Samples(identity, index, chosen, rows.content, findings.warnings)


def missing_files(spec: Spec) -> list[Fault]:
    """Say which files of the dataset are not there, or are of no known kind; the Hub is not asked."""
    from gradetrail.dataset.hub import PREFIX
    from gradetrail.dataset.source import file_sources

    if (spec.dataset.path or "").startswith(PREFIX):
        return []
    findings = Findings()
    try:
        file_sources(spec, findings)
        findings.check()
    except DatasetError as error:
        return [_in_spec(spec, fault) for fault in error.faults]
    return []


def _queried(spec: Spec, sources: Sequence[Source], findings: Findings) -> Source:
    from gradetrail.dataset.collect import collect
    from gradetrail.dataset.query import UserSql, query_rows, typed_table
    from gradetrail.dataset.source import TableSource, own_table

    table = own_table(sources, findings)
    if table is None:
        table = typed_table(collect(sources, findings, None).content.column())
        findings.check()
    query = UserSql(spec.dataset.query or "", spec.where("dataset", "query"), "dataset.query")
    return TableSource("query", query_rows(table, query, findings))


def _conditions(
    spec: Spec, selection: Selection, sources: Sequence[Source], rows: Collected, findings: Findings
) -> dict[str, list[bool]]:
    """Ask the spec's and the invocation's `where` about every row."""
    from gradetrail.dataset.query import UserSql, kept_rows, typed_table
    from gradetrail.dataset.source import own_table

    wanted: dict[str, UserSql] = {}
    if spec.dataset.where is not None:
        where = spec.where("dataset", "where")
        wanted["dataset.where"] = UserSql(spec.dataset.where, where, "dataset.where")
    if selection.where is not None:
        wanted["--where"] = UserSql(selection.where, "--where", "")
    if not wanted:
        return {}
    table = own_table(sources, findings)
    if table is None:
        table = typed_table(rows.content.column())
    kept = kept_rows(table, list(wanted.values()), findings)
    return dict(zip(wanted, kept, strict=True))


def _sample_ids(spec: Spec, rows: Collected, findings: Findings) -> TextColumn:
    from gradetrail.dataset.ids import hash_ids, refuse_duplicates

    name = spec.dataset.id or "id"
    if rows.ids.null_count == len(rows.ids):
        if spec.dataset.id is not None:
            findings.fault(
                f"no row has a field `{name}`",
                did_you_mean(name, rows.fields),
                spec.where("dataset", "id"),
                "dataset.id",
            )
        return hash_ids(rows.hashes)
    if rows.ids.null_count:
        lacking = [index for index, lacks in enumerate(rows.ids.is_null().to_pylist()) if lacks]
        places = rows.places.listing(lacking)
        findings.fault(
            f"rows without `{name}`, which other rows have: {places}", "give every row its own id", field=name
        )
    refuse_duplicates(rows.ids, rows.places, findings, name)
    return rows.ids


def _chosen(
    spec: Spec, index: pa.Table, places: Sequence[int], rows: Collected, findings: Findings
) -> pa.Table:
    import pyarrow as pa

    is_whole = len(places) == index.num_rows
    positions = pa.array(places, pa.int64())
    table = (index if is_whole else index.take(positions)).append_column("position", positions)
    for column in ("category", "cluster"):
        table = table.append_column(column, _field(spec, column, places, rows, findings))
    return table


def _field(
    spec: Spec, column: str, positions: Sequence[int], rows: Collected, findings: Findings
) -> pa.Array[Any]:
    """Give the text of the field that the spec names as `category` or `cluster`."""
    import pyarrow as pa

    name: str | None = getattr(spec.dataset, column)
    if name is None:
        return pa.nulls(len(positions), pa.string())
    values: list[str | None] = []
    lacking: list[int] = []
    for text in (text for texts in rows.content.chunks(positions) for text in texts):
        row = parse_row(text)
        if name not in row:
            lacking.append(positions[len(values)])
        values.append(field_text(row.get(name)))
    if lacking:
        places = rows.places.listing(lacking)
        known = did_you_mean(name, rows.fields)
        fix = "leave those rows out with `where`" if name in rows.fields else known
        findings.fault(
            f"rows without the field `{name}`: {places}",
            fix,
            spec.where("dataset", column),
            f"dataset.{column}",
        )
    return pa.array(values, type=pa.string())
