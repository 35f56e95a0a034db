"""Turns any supported file or DataFrame into one Arrow table of samples.

Invariant: ids and hashes follow from content alone, and data is never retyped. All faults of a
dataset are shown together, each with its place; a selection keeps dataset order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gradetrail.dataset.columns import text_chunks
from gradetrail.dataset.findings import Findings
from gradetrail.dataset.rows import JsonFloat, field_text, json_text, parse_row
from gradetrail.dataset.selection import Selection, check_selection, choose
from gradetrail.errors import did_you_mean

if TYPE_CHECKING:
    import pyarrow as pa

    from gradetrail.dataset.collect import Collected
    from gradetrail.dataset.columns import TextColumn
    from gradetrail.dataset.source import Source
    from gradetrail.spec import Spec

__all__ = ["JsonFloat", "Samples", "Selection", "json_text", "load_samples", "parse_row"]


@dataclass(frozen=True, slots=True)
class Samples:
    """A dataset, and the part of it that was selected."""

    dataset_id: str
    """Identity of all rows, before selection."""
    everything: pa.Table
    """dataset_id, sample_id, sample_hash, position, content: every row, in dataset order."""
    selected: pa.Table
    """sample_id, sample_hash, position, content, category, cluster: the selected rows, same order."""
    warnings: tuple[str, ...]
    """What was repaired or renamed."""


def load_samples(spec: Spec, selection: Selection = Selection(), frame: object | None = None) -> Samples:
    """Load a spec's dataset, or `frame` in its place, and select from it.

    `frame` is a DataFrame (polars, pandas, pyarrow, ...) or a list of mappings. Raises DatasetError
    with every fault that was found, SelectionError if nothing is left.
    """
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
        findings.fault("there are no rows", where=sources[0].part().name)
    findings.check()
    ids = _sample_ids(spec, rows, findings)
    findings.check()
    identity = dataset_id(ids, rows.hashes)
    everything = _everything(identity, ids, rows)
    keeps = _conditions(spec, selection, sources, rows, findings)
    if selection.seed is not None and selection.sample is None:
        findings.warn("--seed has no effect without --sample")
    names = [name for chunk in text_chunks(ids) for name in chunk]
    chosen = choose(names, spec.dataset, selection, keeps)
    selected = _selected(spec, everything, chosen, rows, findings)
    findings.check()
    return Samples(identity, everything, selected, findings.warnings)


def _queried(spec: Spec, sources: Sequence[Source], findings: Findings) -> Source:
    from gradetrail.dataset.collect import collect
    from gradetrail.dataset.query import UserSql, query_rows, typed_table
    from gradetrail.dataset.source import TableSource, own_table

    table = own_table(sources, findings)
    if table is None:
        table = typed_table(collect(sources, findings, None).content)
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
    kept = kept_rows(typed_table(rows.content) if table is None else table, list(wanted.values()), findings)
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


def _everything(identity: str, ids: TextColumn, rows: Collected) -> pa.Table:
    import pyarrow as pa

    sizes = [len(chunk) for chunk in rows.content.chunks]
    # slices of one array: the identity is in memory once, not once a row
    same = pa.array([identity] * max(sizes), type=pa.string())
    return pa.table(
        {
            "dataset_id": pa.chunked_array([same.slice(0, size) for size in sizes]),
            "sample_id": ids,
            "sample_hash": rows.hashes,
            "position": pa.array(range(len(ids)), type=pa.int64()),
            "content": rows.content,
        }
    )


def _selected(
    spec: Spec, everything: pa.Table, chosen: Sequence[int], rows: Collected, findings: Findings
) -> pa.Table:
    table = everything.drop_columns(["dataset_id"])
    if len(chosen) < table.num_rows:
        mask = [False] * table.num_rows
        for position in chosen:
            mask[position] = True
        table = table.filter(mask)
    for column in ("category", "cluster"):
        table = table.append_column(column, _field(spec, column, table, rows, findings))
    return table


def _field(spec: Spec, column: str, table: pa.Table, rows: Collected, findings: Findings) -> pa.Array[Any]:
    """Give the text of the field that the spec names as `category` or `cluster`."""
    import pyarrow as pa

    name: str | None = getattr(spec.dataset, column)
    if name is None:
        return pa.nulls(table.num_rows, pa.string())
    values, lacking = [], []
    for batch in table.select(["position", "content"]).to_batches():
        for position, content in zip(*(values_of.to_pylist() for values_of in batch.columns), strict=True):
            row = parse_row(content)
            if name not in row:
                lacking.append(position)
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
