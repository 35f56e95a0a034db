"""Finds the files of a dataset and opens them by what their names say.

Invariant: a name's ending decides the format, and a file that holds something else is refused by
name. Nothing is guessed from the rows; a truncated file never passes for a shorter one.
"""

from __future__ import annotations

import glob
import io
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from gradetrail.dataset import tables, texts
from gradetrail.dataset.findings import Findings, Part
from gradetrail.errors import did_you_mean

if TYPE_CHECKING:
    import pyarrow as pa

TEXT_FORMATS: dict[str, Callable[[io.BufferedReader, Part, Findings], texts.Rows]] = {
    ".jsonl": texts.jsonl_rows,
    ".ndjson": texts.jsonl_rows,
    ".json": texts.json_rows,
    ".csv": texts.csv_rows,
    ".tsv": texts.tsv_rows,
}
TABLE_FORMATS = (".parquet", ".arrow", ".arrows", ".feather", ".ipc")
COMPRESSIONS: dict[str, Literal["gzip", "zstd"]] = {".gz": "gzip", ".zst": "zstd"}
ENDINGS = "known endings: .jsonl, .json, .csv, .tsv, .parquet, .arrow, each also with .gz or .zst"

SIGNATURES = {
    b"PAR1": "Parquet",
    b"ARROW1": "Arrow",
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "Zstandard",
    b"PK\x03\x04": "zip",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
    b"version https://git-lfs": "a Git LFS pointer, not",
}


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file of a dataset."""

    path: Path
    format: str
    """Ending that names the format, such as `.csv`."""
    compression: Literal["gzip", "zstd"] | None

    @property
    def is_table(self) -> bool:
        """True for Parquet and Arrow, whose columns have types of their own."""
        return self.format in TABLE_FORMATS

    def part(self) -> Part:
        """Give the file as a place of rows."""
        return Part(str(self.path), "row" if self.is_table else "line")

    def rows(self, part: Part, findings: Findings) -> texts.Rows:
        """Yield (number, JSON text) of every row."""
        try:
            stream = self._open(findings)
            if stream is None:
                return
            with closing(stream):
                if self.is_table:
                    yield from tables.table_rows(tables.batches(stream, self.format), part, findings)
                else:
                    yield from TEXT_FORMATS[self.format](stream, part, findings)
        except (OSError, EOFError, ValueError) as error:
            findings.fault(f"cannot be read: {_first_line(error)}", "is the file complete?", str(self.path))

    def table(self, findings: Findings) -> pa.Table | None:
        """Read a Parquet or Arrow file with its own types; None if it cannot be read."""
        try:
            stream = self._open(findings)
            if stream is None:
                return None
            with closing(stream):
                return tables.read_table(stream, self.format)
        except (OSError, EOFError, ValueError) as error:
            findings.fault(f"cannot be read: {_first_line(error)}", "is the file complete?", str(self.path))
        return None

    def _open(self, findings: Findings) -> io.BufferedReader | None:
        """Open for reading, decompressed; None for a file that is not what its name says."""
        raw = self.path.open("rb")
        stream = raw
        if self.compression is not None:
            import pyarrow as pa

            # Arrow's reader raises on a truncated stream; zstandard's ends as if it were complete
            stream = io.BufferedReader(pa.CompressedInputStream(raw, self.compression))  # type: ignore[arg-type]
        try:
            head = stream.peek(32)[:32]
        except OSError:
            stream.close()
            raise
        wrong = self._wrong_content(head)
        if wrong:
            findings.fault(
                wrong,
                ENDINGS if head else "write one row for each sample, or name another file",
                str(self.path),
            )
            stream.close()
            return None
        return stream

    def _wrong_content(self, head: bytes) -> str | None:
        if not head:
            return "is empty"
        found = next((name for magic, name in SIGNATURES.items() if head.startswith(magic)), None)
        expected = {".parquet": "Parquet"}.get(self.format)
        if found == expected or (self.is_table and expected is None and found in (None, "Arrow")):
            return None
        ending = "".join((self.format, *(e for e, kind in COMPRESSIONS.items() if kind == self.compression)))
        if found is not None:
            return f"the name ends in {ending}, but it holds {found} data"
        return f"the name ends in {ending}, but it does not hold {expected} data"


def find_files(base: Path, name: str, findings: Findings) -> Iterator[SourceFile]:
    """Yield the file `name` in the folder `base`, or the files that it matches, sorted by name."""
    path = base / name
    paths = [path]
    if glob.has_magic(name) and not path.exists():
        matches = (base / match for match in glob.glob(name, root_dir=base, recursive=True))
        paths = sorted(match for match in matches if match.is_file())
        if not paths:
            findings.fault(f"no file matches `{path.name}`", "check the folder and the pattern", str(path))
    for found in paths:
        if not found.exists():
            findings.fault("no such file", _near(found), str(found))
        elif found.is_dir():
            findings.fault("is a folder, not a file", f"write a pattern: {found}/*.jsonl", str(found))
        else:
            suffixes = [suffix.lower() for suffix in found.suffixes]
            compression = COMPRESSIONS.get(suffixes[-1]) if suffixes else None
            ending = "".join(suffixes[-2:-1] if compression else suffixes[-1:])
            if ending in TEXT_FORMATS or ending in TABLE_FORMATS:
                yield SourceFile(found, ending, compression)
            else:
                findings.fault(f"unknown kind of file `{found.name}`", ENDINGS, str(found))


def _near(path: Path) -> str:
    if not path.parent.is_dir():
        return f"there is no folder {path.parent}"
    return did_you_mean(path.name, _datasets(path.parent)) or "check the path"


def _datasets(folder: Path) -> Iterator[str]:
    """Name the files of a folder that a dataset can be."""
    for item in folder.iterdir():
        suffixes = [suffix.lower() for suffix in item.suffixes]
        if suffixes and suffixes[-1] in COMPRESSIONS:
            suffixes.pop()
        if suffixes and (suffixes[-1] in TEXT_FORMATS or suffixes[-1] in TABLE_FORMATS) and item.is_file():
            yield item.name


def _first_line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
