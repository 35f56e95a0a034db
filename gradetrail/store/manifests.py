"""Manifests of packed runs, read when something of them is asked for.

Invariant: to Python they are what the JSON text says. To parse ten thousand takes longer than a query.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from gradetrail.store.digests import record_of


class PackedManifest(Mapping[str, Any]):
    """One manifest; it must not be changed."""

    __slots__ = ("_record", "run_id", "text")

    def __init__(self, run_id: str, text: str) -> None:
        self.run_id = run_id
        self.text = text
        """The JSON object as it was stored, with its digest."""
        self._record: dict[str, Any] | None = None

    def __getitem__(self, key: str) -> Any:
        return self.run_id if key == "run_id" else self._whole()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._whole())

    def __len__(self) -> int:
        return len(self._whole())

    def _whole(self) -> dict[str, Any]:
        if self._record is None:
            self._record = record_of(self.text.encode())
        return self._record


def text_of(manifest: Mapping[str, Any]) -> str:
    """Give a manifest as JSON, without reading one that is packed."""
    return manifest.text if isinstance(manifest, PackedManifest) else orjson.dumps(dict(manifest)).decode()
