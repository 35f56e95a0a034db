"""The stored tables as plain Parquet files, for engines that know nothing of a warehouse.

Invariant: every row of every file counts, and all files of a table have one schema, so that a list of
names or a glob is the whole table. Files of which all rows count are linked, and stay readable when the
warehouse packs them; rows that stand beside others which do not count, or in no file yet, or in a file
of an older schema, are read through the same views as every query and written anew.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from gradetrail import sql
from gradetrail.errors import Fault, QueryError, SelectionError, StoreError
from gradetrail.store.places import is_address
from gradetrail.store.remote import Remote
from gradetrail.store.schema import FACT_ROW_GROUP, TABLES, arrow_schema
from gradetrail.store.segments import writing
from gradetrail.warehouse.catalog import Catalog

if TYPE_CHECKING:
    from datetime import datetime

    import pyarrow as pa

    from gradetrail.store import Live

REST = "rest.parquet"
"""The file of rows that could not be linked."""
NO_LINKS = {errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP}
"""How a disk says that a file cannot be linked, or not from there."""


def write_tables(live: Live, folder: Path, *, as_of: datetime | None = None) -> dict[str, list[str]]:
    """Write all tables below a folder, which appears whole; give the files of each, absolute, sorted.

    Below an address such as `s3://bucket/tables` they appear one by one; a file is then an address.
    A table without rows is one file without rows. `as_of` leaves runs out that began later.
    SelectionError for a folder that holds something; QueryError from what a damaged or vanished file
    raised; StoreError if it cannot be written.
    """
    if is_address(folder):
        return _sent(live, str(folder), as_of)
    target = Path(os.path.abspath(folder))
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise SelectionError(Fault(f"{folder} is there already", "folder", fix="name a new or empty one"))
    temporary = target.with_name(f"{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        for table in TABLES:
            (temporary / table).mkdir(parents=True)
        linked = {table: set[str]() if as_of else _linked(live, table, temporary / table) for table in TABLES}
        _write_rest(live, linked, temporary, as_of)
        temporary.replace(target)
    except OSError as error:
        raise StoreError(Fault(f"cannot be written: {error.strerror}", str(folder))) from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return {table: sorted(str(file) for file in (target / table).iterdir()) for table in TABLES}


def _sent(live: Live, address: str, as_of: datetime | None) -> dict[str, list[str]]:
    remote = Remote(address)
    if remote.top():
        raise SelectionError(Fault(f"{remote.url} is there already", "folder", fix="name a new or empty one"))
    made: list[str] = []
    with tempfile.TemporaryDirectory(prefix="gradetrail-") as scratch:
        files = write_tables(live, Path(scratch) / "tables", as_of=as_of)
        try:
            for path in chain(*files.values()):
                name = Path(path).relative_to(Path(scratch) / "tables").as_posix()
                if remote.create(name, Path(path)) is None:
                    raise StoreError(Fault("another process writes there", remote.place(name)))
                made.append(name)
        except BaseException:
            with contextlib.suppress(StoreError):
                for name in made:
                    remote.delete(name)
            raise
    return {table: [remote.place(f"{table}/{Path(path).name}") for path in files[table]] for table in files}


def _linked(live: Live, table: str, folder: Path) -> set[str]:
    """Link the files of which all rows count and that have the present schema; give their names."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    linked = set()
    for number, file in enumerate(live.files.get(table, ())):
        try:
            if not pq.read_schema(file).equals(arrow_schema(table)):
                continue
            name = folder / Path(file).name
            _link(file, name.with_name(f"{number}-{name.name}") if name.exists() else name)
        except FileNotFoundError as error:
            raise QueryError(Fault(f"{file} has gone")) from error
        except (pa.ArrowException, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise QueryError(Fault(f"{file} cannot be read: {error}")) from error
        linked.add(file)
    return linked


def _link(file: str, name: Path) -> None:
    """Give a file a second name; a copy where the disk has no links."""
    try:
        os.link(file, name)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        shutil.copyfile(file, name)


def _write_rest(live: Live, linked: dict[str, set[str]], folder: Path, as_of: datetime | None) -> None:
    """Write the rows that are in no linked file, each table to one file; none if there are no such rows."""
    files = {table: [f for f in live.files.get(table, ()) if f not in linked[table]] for table in TABLES}
    rest = replace(live, files=files, manifests=[], scorers=[], tasks=[])
    catalog = Catalog(rest, as_of=as_of)
    try:
        catalog.provide(" ".join(TABLES))
        for table in TABLES:
            rows = catalog.cursor().sql(sql.select_from(table)).to_arrow_reader(FACT_ROW_GROUP)
            batches = _tables(rows)
            first = next(batches, None)
            if first is not None or not linked[table]:
                begin = arrow_schema(table).empty_table() if first is None else first
                with (folder / table / REST).open("xb") as file:
                    writing(table, chain([begin], batches))(file)
    finally:
        catalog.close()


def _tables(rows: pa.RecordBatchReader) -> Iterator[pa.Table]:
    import pyarrow as pa

    for batch in rows:
        if batch.num_rows:
            yield pa.Table.from_batches([batch])
