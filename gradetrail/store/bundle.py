"""One run in one file: a zip that holds a small warehouse, with the digest of every member.

Invariant: nothing of a bundle is used before all of it was checked. A bundle comes from elsewhere, so
each member must have a name that gradetrail gives, stand in `bundle.json` with its size and sha256,
and be stored uncompressed, and rows must be of the run that their file is named after: a bundle can
neither write outside its folder, nor grow, nor add rows to another run.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from gradetrail.errors import Fault, StoreError
from gradetrail.store.layout import FORMAT_FILE, PARQUET, checked, parse_part, parse_scores, parse_task
from gradetrail.store.schema import FACT_ROW_GROUP, TABLES
from gradetrail.store.segments import footer_fault, row_groups
from gradetrail.store.storage import LocalStorage

BUNDLE_FORMAT = 1
INDEX = "bundle.json"
INDEX_BYTES = 8_000_000
JSON_BYTES = 64_000_000
MAX_MEMBERS = 20_000
GROUP_BYTES = 4_000_000_000
"""Most that a row group may hold when it is unpacked; ours are a hundredth of it."""
BLOCK = 1 << 20
FIX = "make it again: gradetrail export RUN --bundle FILE"
_ZIP = b"PK\x03\x04"
_DATE = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle that was checked and unpacked."""

    path: Path
    root: Path
    """The warehouse that it holds."""
    run_id: str


def is_bundle(name: str) -> bool:
    """Tell a bundle's path from the name of a run: it has a folder or a suffix, or is a zip file."""
    if os.sep in name or name.endswith((".zip", ".bundle")):
        return True
    try:
        with open(name, "rb") as file:
            return file.read(4) == _ZIP
    except OSError:
        return False


def pack(folder: Path, target: Path, run_id: str, written_by: str) -> None:
    """Write the warehouse in `folder` as one file; equal content gives equal bytes."""
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    files = {name: _measured(folder / name) for name in names}
    index = {"format": BUNDLE_FORMAT, "written_by": written_by, "run_id": run_id, "files": files}
    temporary = target.with_name(f"{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        with zipfile.ZipFile(temporary, "x", zipfile.ZIP_STORED) as archive:
            archive.writestr(
                zipfile.ZipInfo(INDEX, _DATE),
                orjson.dumps(index, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE),
            )
            for name in names:
                member = zipfile.ZipInfo(name, _DATE)
                member.external_attr = (stat.S_IFREG | 0o644) << 16
                member.file_size = files[name]["bytes"]
                with archive.open(member, "w") as sink, (folder / name).open("rb") as source:
                    for block in iter(lambda: source.read(BLOCK), b""):
                        sink.write(block)
        temporary.replace(target)
    except OSError as error:
        raise StoreError(Fault(f"cannot be written: {error.strerror}", str(target))) from None
    finally:
        temporary.unlink(missing_ok=True)


def _measured(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"bytes": path.stat().st_size, "sha256": digest}


def unpack(path: Path, folder: Path) -> Bundle:
    """Check a bundle and write what it holds into the new `folder`; StoreError names the fault."""
    if not path.is_file():
        raise StoreError(Fault("there is no such file", str(path)))
    folder.mkdir()
    try:
        with zipfile.ZipFile(path) as archive:
            index = _index(archive, path)
            run_id = checked(str(index["run_id"]), "run id")
            files = index["files"]
            for member in archive.infolist():
                if member.filename != INDEX:
                    _check_member(member, files, run_id, path)
            listed = [member.filename for member in archive.infolist()]
            wanted = {INDEX, *files}
            if len(listed) != len(wanted) or set(listed) != wanted:
                odd = sorted(wanted.symmetric_difference(listed)) or sorted(
                    name for name in wanted if listed.count(name) > 1
                )
                raise _fault(path, "its list of files is not what it holds", odd[0])
            for name, said in files.items():
                _extract(archive, name, said, folder, path)
    except (OSError, zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError) as error:
        raise _fault(path, f"is not a bundle that can be read: {error}") from None
    _check_content(folder, run_id, path)
    return Bundle(path, folder, run_id)


def _fault(path: Path, what: str, name: str = "") -> StoreError:
    return StoreError(Fault(what, str(path), name, fix=FIX))


def _index(archive: zipfile.ZipFile, path: Path) -> Mapping[str, Any]:
    members = archive.infolist()
    if not members or members[0].filename != INDEX:
        raise _fault(path, f"is not a bundle: it does not begin with {INDEX}")
    if len(members) > MAX_MEMBERS or members[0].file_size > INDEX_BYTES:
        raise _fault(path, "is too large for a bundle of one run")
    _check_storing(members[0], path)
    if sum(member.compress_size for member in members) > path.stat().st_size:
        raise _fault(path, "holds files that overlap")
    try:
        index = orjson.loads(archive.read(members[0]))
        version, files = index["format"], index["files"]
        whole = type(version) is int and version >= 1 and isinstance(index["run_id"], str)
        whole = whole and all(
            isinstance(said["bytes"], int) and isinstance(said["sha256"], str) for said in files.values()
        )
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
        whole, version = False, None
    if isinstance(version, int) and version > BUNDLE_FORMAT:
        reason = f"is a bundle of format {version}; this gradetrail knows up to {BUNDLE_FORMAT}"
        raise StoreError(Fault(reason, str(path), fix="install a newer gradetrail"))
    if not whole:
        raise _fault(path, "is damaged", INDEX)
    return dict(index)


def _check_storing(member: zipfile.ZipInfo, path: Path) -> None:
    kind = stat.S_IFMT(member.external_attr >> 16)
    if kind not in (0, stat.S_IFREG) or member.is_dir():
        raise _fault(path, "holds something that is no plain file", member.filename)
    if member.flag_bits & 0x1:
        raise _fault(path, "holds an encrypted file", member.filename)
    if member.compress_type != zipfile.ZIP_STORED or member.file_size != member.compress_size:
        raise _fault(path, "holds a compressed file, which a bundle never does", member.filename)


def _check_member(member: zipfile.ZipInfo, files: Mapping[str, Any], run_id: str, path: Path) -> None:
    _check_storing(member, path)
    if not _is_ours(member.filename, run_id):
        raise _fault(path, "holds a file that no bundle has", member.filename)
    said = files.get(member.filename)
    if said is None or said["bytes"] != member.file_size:
        raise _fault(path, f"does not agree with {INDEX}", member.filename)
    if member.filename.endswith(".json") and member.file_size > JSON_BYTES:
        raise _fault(path, "is too large", member.filename)


def _is_ours(name: str, run_id: str) -> bool:
    """Say whether a bundle of a run may hold a file of this name."""
    folder, slash, file = name.partition("/")
    try:
        checked(file, "file name")
    except StoreError:
        return name == FORMAT_FILE
    if not slash or "/" in file:
        return False
    if folder == "runs":
        return file == f"{run_id}.json"
    if folder == "scorers":
        return file.endswith(".json")
    if folder == "tasks":
        return parse_task(file) is not None
    if folder == "samples":
        return file.endswith(PARQUET)
    if folder == "scores":
        score = parse_scores(file)
        return score is not None and score.run_id == run_id
    part = parse_part(file)
    if part is None or folder not in TABLES:
        return False
    return part.run_id == run_id if folder == "trials" else not part.is_fold


def _extract(archive: zipfile.ZipFile, name: str, said: Mapping[str, Any], folder: Path, path: Path) -> None:
    target = folder / name
    target.parent.mkdir(exist_ok=True)
    digest = hashlib.sha256()
    with archive.open(name) as source, target.open("xb") as sink:
        for block in _blocks(source, said["bytes"]):
            digest.update(block)
            sink.write(block)
    if digest.hexdigest() != said["sha256"] or target.stat().st_size != said["bytes"]:
        raise _fault(path, "is not what it was when the bundle was made: its sha256 differs", name)


def _blocks(source: Any, size: int) -> Iterator[bytes]:
    while size > 0:
        block = source.read(min(BLOCK, size))
        if not block:
            return
        size -= len(block)
        yield block


def _check_content(folder: Path, run_id: str, path: Path) -> None:
    """Refuse a bundle whose files hold something else than their names say."""
    storage = LocalStorage(folder)
    for name in (FORMAT_FILE, f"runs/{run_id}.json"):
        if not (folder / name).is_file():
            raise _fault(path, "is missing", name)
    if len(storage.list("trials")) != 1:
        raise _fault(path, "has not exactly one file of trials")
    if _record(folder / f"runs/{run_id}.json", path).get("run_id") != run_id:
        raise _fault(path, "is another run's manifest", f"runs/{run_id}.json")
    checked(str(_record(folder / f"runs/{run_id}.json", path).get("task")), "task name")
    for file in storage.list("tasks"):
        scorers = _record(folder / "tasks" / file, path).get("scorers")
        if not isinstance(scorers, dict) or not all(isinstance(item, str) for item in scorers.values()):
            raise _fault(path, "is not the definition of a task", f"tasks/{file}")
    for file in storage.list("scorers"):
        if _record(folder / "scorers" / file, path).get("scorer_id") != file.removesuffix(".json"):
            raise _fault(path, "is another scorer", f"scorers/{file}")
    for table in TABLES:
        for file in storage.list(table):
            _check_rows(storage, table, file, path)


def _record(file: Path, path: Path) -> Mapping[str, Any]:
    try:
        record = orjson.loads(file.read_bytes())
    except orjson.JSONDecodeError:
        record = None
    if not isinstance(record, dict):
        raise _fault(path, "is not a JSON object", f"{file.parent.name}/{file.name}")
    return record


def _check_rows(storage: LocalStorage, table: str, file: str, path: Path) -> None:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    name = f"{table}/{file}"
    fault = footer_fault(storage, table, name)
    if fault is not None:
        raise _fault(path, fault.message, name)
    stem = file.removesuffix(PARQUET)
    column = "dataset_id" if table == "samples" else "run_id"
    owner = stem if table == "samples" else _owner(table, file)
    try:
        known = pq.read_metadata(storage.path(name))
        groups = [known.row_group(n) for n in range(known.num_row_groups)]
        if any(g.num_rows > FACT_ROW_GROUP or g.total_byte_size > GROUP_BYTES for g in groups):
            raise _fault(path, "has larger row groups than gradetrail writes", name)
        for rows in row_groups(storage.path(name), table, [column]):
            if rows.num_rows and pc.unique(rows.column(column)).to_pylist() != [owner]:
                raise _fault(path, f"holds rows whose {column} is not {owner}", name)
    except (OSError, pa.ArrowException) as error:
        raise _fault(path, f"cannot be read: {error}", name) from None


def _owner(table: str, file: str) -> str | None:
    named = parse_scores(file) if table == "scores" else parse_part(file)
    return named.run_id if named else None
