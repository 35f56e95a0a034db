"""What packs hold as texts by name: manifests, and what was noted of grades.

Invariant: each pack is read once, when somebody asks for what is in it. One that cannot be read is named, and
left out; one that has gone since has a newer one, which holds the same runs unless they were removed.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from gradetrail.errors import Fault, QueryError
from gradetrail.store.interface import Storage
from gradetrail.store.manifests import PackedManifest
from gradetrail.store.packs import Record, bodies, latest, manifests
from gradetrail.store.segments import DAMAGE_FIX

Manifest = Mapping[str, Any]


class PackedTexts:
    """Reads packs of texts, and remembers the newest of each kind."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self._bodies: dict[str, dict[str, str]] = {}
        self._manifests: tuple[str, dict[str, PackedManifest]] = ("", {})

    def bodies(self, record: Record, kind: str) -> dict[str, str]:
        """Give the texts of a kind."""
        name = record.bodies.get(kind)
        if name is not None and name not in self._bodies:
            self._bodies = {n: found for n, found in self._bodies.items() if f"/{kind}-" not in n}
            self._bodies[name] = bodies(self.storage, record, kind)
        return self._bodies.get(name or "", {})

    def manifests(self, record: Record, faults: list[Fault]) -> Mapping[str, Manifest]:
        """Give manifests by the names of the files that they were; FileNotFoundError if the pack has gone."""
        name = record.bodies.get("runs")
        if name is None:
            return {}
        if name != self._manifests[0]:
            try:
                found = {f"{manifest.run_id}.json": manifest for manifest in manifests(self.storage, record)}
            except (QueryError, ValueError) as error:
                if not self.storage.has(name):
                    raise FileNotFoundError(name) from None
                faults.append(self._fault(name, error))
                return {}
            self._manifests = (name, found)
        return self._manifests[1]

    def manifests_later(self, record: Record, faults: list[Fault]) -> Mapping[str, Manifest]:
        """Give the manifests of a record, perhaps long after it was read."""
        newest = record
        while True:
            try:
                found = self.manifests(newest, faults)
            except FileNotFoundError:
                tried, newest = newest, latest(self.storage, faults)
                if newest.number == tried.number:
                    return {}
                continue
            if newest is record:
                return found
            return {file: found[file] for file in found if found[file]["run_id"] in record.manifests}

    def fault(self, name: str) -> Fault | None:
        """Read a pack of manifests again; say what is wrong with it."""
        faults: list[Fault] = []
        self._manifests = ("", {})
        with suppress(FileNotFoundError):
            self.manifests(Record(bodies={"runs": name}), faults)
        return faults[0] if faults else None

    def _fault(self, name: str, error: Exception) -> Fault:
        return Fault(f"damaged: {error}", self.storage.place(name), fix=DAMAGE_FIX)
