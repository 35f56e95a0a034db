"""Manifests of packed runs, read when more is asked for than what runs are chosen by.

Invariant: to Python they are what the JSON text says. To parse ten thousand takes longer than a query.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from gradetrail.store.digests import record_of


class PackedManifest(Mapping[str, Any]):
    """One manifest; it must not be changed."""

    __slots__ = ("_known", "_record", "run_id", "text")

    def __init__(self, run_id: str, text: str, task: str | None, started_at: str | None) -> None:
        self.run_id = run_id
        self.text = text
        """The JSON object as it was stored, with its digest."""
        self._known = {"run_id": run_id, "task": task, "started_at": started_at}
        self._record: dict[str, Any] | None = None

    def __getitem__(self, key: str) -> Any:
        known = self._known.get(key)
        return known if known is not None else self._whole()[key]

    def get(self, key: str, default: Any = None) -> Any:
        """Give a value, without what `Mapping` does for it: runs are sorted by it."""
        known = self._known.get(key)
        return known if known is not None else self._whole().get(key, default)

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
