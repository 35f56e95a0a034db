"""Manifests of packed runs: read when asked for, parsed for more than what runs are chosen by.

Invariant: to Python they are what the JSON text says. To read ten thousand takes longer than most queries,
and to parse them longer than a leaderboard.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, overload

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


class Manifests(Sequence[Mapping[str, Any]]):
    """The manifests of a warehouse, sorted by run_id."""

    def __init__(
        self,
        pack: str,
        loose: Mapping[str, Mapping[str, Any]],
        packed: Callable[[], Mapping[str, Mapping[str, Any]]],
    ) -> None:
        """Take those in files of their own, by file name; `packed` reads the pack, likewise."""
        self.pack = pack
        """Parquet file of the packed ones, absolute."""
        self.loose = [loose[file] for file in sorted(loose)]
        """Those in files of their own; they are newer than what the pack has of the same runs."""
        self._loose = loose
        self._packed = packed

    @cached_property
    def _all(self) -> list[Mapping[str, Any]]:
        found = {**self._packed(), **self._loose}
        return [found[file] for file in sorted(found)]

    @overload
    def __getitem__(self, place: int) -> Mapping[str, Any]: ...
    @overload
    def __getitem__(self, place: slice) -> list[Mapping[str, Any]]: ...
    def __getitem__(self, place: int | slice) -> Mapping[str, Any] | list[Mapping[str, Any]]:
        return self._all[place]

    def __len__(self) -> int:
        return len(self._all)

    def __eq__(self, other: object) -> bool:
        return self._all == list(other) if isinstance(other, Sequence) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel to another process as a list."""
        return list, (self._all,)


def text_of(manifest: Mapping[str, Any]) -> str:
    """Give a manifest as JSON, without reading one that is packed."""
    return manifest.text if isinstance(manifest, PackedManifest) else orjson.dumps(dict(manifest)).decode()
