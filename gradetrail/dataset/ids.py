"""Gives every sample its id, and the dataset its own.

Invariant: an id is text, unique in its dataset, and follows from the row's content alone: never
from its place in the file, so that shuffling the file changes no id.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import orjson

from gradetrail.dataset.columns import repeated_values, text_chunks, text_column
from gradetrail.dataset.findings import Findings, Places
from gradetrail.dataset.rows import field_text, kind_of

if TYPE_CHECKING:
    from gradetrail.dataset.columns import TextColumn

DATASET_TAG = "gradetrail.dataset.v1"
MAX_LENGTH = 500
HASH_LENGTH = 12
LONGER_HASH_LENGTH = 32
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def id_fault(value: Any) -> str | None:
    """Say why a field's value cannot be an id; None if it can."""
    if value is None or isinstance(value, bool | list | dict):
        return f"{kind_of(value)} is not an id"
    text = str(value)
    if not text.strip():
        return "a blank id"
    if len(text) > MAX_LENGTH:
        return f"an id of {len(text):,} characters, at most {MAX_LENGTH}"
    if _CONTROL.search(text):
        return f"control characters in the id {text!r}"
    return None


def id_text(value: Any) -> str:
    """Give an id as text: 1 and "1" are one id, 1.0 stays 1.0."""
    return field_text(value) or ""


def hash_ids(hashes: TextColumn) -> TextColumn:
    """Make ids of sample hashes: 12 hex digits, then `-2`, `-3` for exact repetitions.

    Should two different rows share 12 digits, both get 32.
    """
    import pyarrow.compute as pc

    short = pc.utf8_slice_codeunits(hashes, 0, HASH_LENGTH)
    repeated = repeated_values(short)
    if not repeated:
        return short
    owners: dict[str, set[str]] = {prefix: set() for prefix in repeated}
    for digests in text_chunks(hashes):
        for digest in digests:
            if digest[:HASH_LENGTH] in repeated:
                owners[digest[:HASH_LENGTH]].add(digest)
    met: Counter[str] = Counter()

    def name(digest: str) -> str:
        prefix = digest[:HASH_LENGTH]
        if prefix not in repeated:
            return prefix
        met[digest] += 1
        stem = digest[:LONGER_HASH_LENGTH] if len(owners[prefix]) > 1 else prefix
        return f"{stem}-{met[digest]}" if met[digest] > 1 else stem

    return text_column([name(digest) for digest in digests] for digests in text_chunks(hashes))


def refuse_duplicates(ids: TextColumn, places: Places, findings: Findings, field: str) -> None:
    """Note a fault for every id that stands in more than one row, naming the places; NULL is no id."""
    import pyarrow.compute as pc

    if len(ids) - ids.null_count == pc.count_distinct(ids).as_py():
        return
    repeated = repeated_values(ids.drop_null())
    found: dict[str, list[int]] = {}
    position = 0
    for chunk in text_chunks(ids):
        for sample_id in chunk:
            if sample_id in repeated:
                found.setdefault(sample_id, []).append(position)
            position += 1
    for sample_id, positions in found.items():
        findings.fault(
            f"the id `{sample_id}` stands in {len(positions):,} rows: {places.listing(positions)}",
            "give every row its own id, or name another column with `dataset: {id: ...}`",
            field=field,
        )


def dataset_id(ids: TextColumn, hashes: TextColumn) -> str:
    """Hash all (sample_id, sample_hash), sorted by id: equal rows give an equal id in any order."""
    import pyarrow as pa

    rows = pa.table({"id": ids, "hash": hashes}).sort_by("id")
    digest = hashlib.sha256(DATASET_TAG.encode() + b"\n[")
    separator = b""
    for batch in rows.to_batches(max_chunksize=8192):
        pairs = list(zip(batch.column("id").to_pylist(), batch.column("hash").to_pylist(), strict=True))
        # plain text: orjson writes it as RFC 8785 does
        digest.update(separator + orjson.dumps(pairs)[1:-1])
        separator = b","
    digest.update(b"]")
    return digest.hexdigest()
