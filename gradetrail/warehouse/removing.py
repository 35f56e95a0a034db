"""What removing a run would take with it, and doing it.

Invariant: an answer that another run is pinned to, or went on a conversation with, stays, unless the
user insists; then that run's trials are pending again, and its grades, which may quote the answer, go
too, with all that judges and later turns were asked with it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from gradetrail import sql
from gradetrail.errors import Fault, SelectionError, StoreError
from gradetrail.store import Store
from gradetrail.store.packs import latest
from gradetrail.store.removal import Freed, Removal, loose_files, packed_bytes
from gradetrail.warehouse.warehouse import Warehouse


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a removal would do."""

    removal: Removal
    n_trials: int
    n_answers: int
    """Answers that the run paid for."""
    pinned: dict[str, frozenset[str]]
    """Other runs, each with the answers (response_id) of this run that it rests on."""
    pending: dict[str, frozenset[str]]
    """Other runs, each with the answers without which its trials are pending: pinned, or asked with those."""
    n_bytes: int
    """About so many bytes are of rows that go: their files, and their share of packs."""


def outlook(root: Path, selector: str, *, with_answers: bool = False, force: bool = False) -> Outlook:
    """Say what removing a run would do; writes nothing."""
    store = Store(root, create=False)
    with Warehouse(root) as warehouse:
        run_id = _run_id(warehouse, selector)
        _, found = warehouse.rows(sql.text_of("warehouse/pinned_answers"), {"run_id": run_id})
        pinned: dict[str, set[str]] = {}
        for other, response_id in found:
            pinned.setdefault(other, set()).add(response_id)
        _, ((n_trials, n_answers),) = warehouse.rows(
            sql.text_of("warehouse/n_rows_of_run"), {"run_id": run_id}
        )
        quoting: dict[str, set[str]] = {}
        asked_with: dict[str, set[str]] = {}
        _, found = warehouse.rows(sql.text_of("warehouse/quoting_answers"), {"run_id": run_id})
        for other, response_id, quoted, resting in found:
            quoting.setdefault(other, set()).add(response_id)
            pinned.setdefault(other, set()).add(quoted)
            if resting is not None:
                asked_with.setdefault(resting, set()).add(response_id)
    removal = Removal(run_id, with_answers)
    pending = _frozen(
        {run: pinned.get(run, set()) | asked_with.get(run, set()) for run in {*pinned, *asked_with}}
    )
    if with_answers and force:
        removal = replace(removal, ungraded=frozenset(pending), quoting=_frozen(quoting))
    elif with_answers:
        removal = replace(removal, kept=frozenset[str]().union(*pinned.values()))
    n_bytes = sum(loose_files(store.storage, removal).values())
    n_bytes += packed_bytes(store.storage, latest(store.storage), removal)
    return Outlook(removal, n_trials, n_answers, _frozen(pinned), pending, n_bytes)


def _frozen(answers: dict[str, set[str]]) -> dict[str, frozenset[str]]:
    return {run_id: frozenset(ids) for run_id, ids in answers.items()}


def _run_id(warehouse: Warehouse, selector: str) -> str:
    try:
        return warehouse.run_id(selector)
    except SelectionError:
        # what is left of a run without a manifest goes by its whole name
        stems = [*warehouse.stems("trials"), *warehouse.stems("responses"), *warehouse.stems("scores")]
        if any(stem.startswith(f"{selector}.") for stem in stems):
            return selector
        raise


def remove_run(root: Path, plan: Outlook) -> Freed:
    """Do it; say what that frees. RunLockedError if the run is being generated.

    Raises StoreError, and removes nothing, if other runs began to rest on its answers since the outlook.
    """
    removal = plan.removal

    def confirm() -> None:
        now = outlook(root, removal.run_id, with_answers=True, force=bool(removal.ungraded))
        is_more = [
            answers - before.get(run_id, frozenset())
            for after, before in (
                (now.pinned, plan.pinned), (now.pending, plan.pending), (now.removal.quoting, removal.quoting)
            )
            for run_id, answers in after.items()
        ]  # fmt: skip
        if any(is_more):
            reason = f"other runs began to rest on answers of {removal.run_id} meanwhile"
            raise StoreError(Fault(reason, str(root), fix="look at what would go, and try again"))

    pending = plan.pending if removal.ungraded else {}
    return Store(root).remove(removal, pending, confirm if removal.with_answers else lambda: None)
