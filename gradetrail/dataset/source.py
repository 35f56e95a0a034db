"""Says where the rows come from: files, the Hub, a DataFrame, Python mappings, a query's result.

Invariant: every source gives the same two things, rows as JSON text with their places, and whether
it has column types of its own, which SQL then sees.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from gradetrail.dataset import hub, tables
from gradetrail.dataset.files import find_files
from gradetrail.dataset.findings import Findings, Part
from gradetrail.errors import DatasetError, Fault

if TYPE_CHECKING:
    import pyarrow as pa

    from gradetrail.spec import Spec


class Source(Protocol):
    """A file, or what stands in for one."""

    @property
    def is_table(self) -> bool:
        """True where columns have types of their own."""

    def part(self) -> Part:
        """Give the source as a place of rows."""

    def rows(self, part: Part, findings: Findings) -> Iterator[tuple[int, str]]:
        """Yield (number, JSON text) of every row."""

    def table(self, findings: Findings) -> pa.Table | None:
        """Give the source with its own types; None if it has none or cannot be read."""


@dataclass(frozen=True, slots=True)
class TableSource:
    """An Arrow table: a DataFrame, or the result of a query."""

    name: str
    content: pa.Table

    @property
    def is_table(self) -> bool:
        """True: columns have types."""
        return True

    def part(self) -> Part:
        """Give the table as a place of rows."""
        return Part(self.name, "row")

    def rows(self, part: Part, findings: Findings) -> Iterator[tuple[int, str]]:
        """Yield (number, JSON text) of every row."""
        return tables.table_rows(self.content.to_batches(max_chunksize=tables.BATCH), part, findings)

    def table(self, _: Findings) -> pa.Table:
        """Give the table itself."""
        return self.content


@dataclass(frozen=True, slots=True)
class MappingSource:
    """Rows that are given as Python mappings."""

    content: Iterable[Any]

    @property
    def is_table(self) -> bool:
        """False: types are those of JSON."""
        return False

    def part(self) -> Part:
        """Give the list as a place of rows."""
        return Part("frame", "row")

    def rows(self, part: Part, findings: Findings) -> Iterator[tuple[int, str]]:
        """Yield (number, JSON text) of every row."""
        return tables.mapping_rows(self.content, part, findings)

    def table(self, _: Findings) -> None:
        """Give None: types follow from the rows."""


def frame_source(frame: object) -> Source:
    """Take a DataFrame or a list of mappings. Raises DatasetError on anything else."""
    if isinstance(frame, list | tuple):
        return MappingSource(frame)
    if isinstance(frame, tables.SupportsArrowStream):
        return TableSource("frame", tables.frame_table(frame))
    fix = (
        "collect() it"
        if hasattr(frame, "collect")
        else "pass a DataFrame, an Arrow table or a list of mappings"
    )
    raise DatasetError(Fault(f"a {type(frame).__name__} is not a dataset", "frame", fix=fix))


def file_sources(spec: Spec, findings: Findings) -> list[Source]:
    """Find the files that the spec names."""
    where = spec.where("dataset", "path")
    path = spec.dataset.path
    if path is None:
        raise DatasetError(
            Fault("no dataset is given", where, "dataset.path", "name a file, or pass a frame")
        )
    if path.startswith(hub.PREFIX):
        found = hub.hub_files(path, where)
        return [source for file in found for source in find_files(file.parent, file.name, findings)]
    return list(find_files(spec.base, path, findings))


def own_table(sources: Sequence[Source], findings: Findings) -> pa.Table | None:
    """Stack the tables of sources that all have types of their own; None if one has not."""
    if not all(source.is_table for source in sources):
        return None
    found = [table for table in (source.table(findings) for source in sources) if table is not None]
    findings.check()
    try:
        return found[0] if len(found) == 1 else tables.joined(found)
    except (ValueError, TypeError) as error:
        message = f"the files disagree on a column's type: {str(error).splitlines()[0]}"
        raise DatasetError(
            Fault(message, sources[0].part().name, fix="write them with one schema")
        ) from error
