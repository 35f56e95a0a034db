"""Damage to files, two packers at once, and a clock that jumps: what `check` says, and what is read.

Invariant: damage is unnoticed if `check` calls a warehouse healthy that reads otherwise than before, and if
nothing of a warehouse can be read, whatever is said: but for `gradetrail.json` all the rest must be there.
"""

from __future__ import annotations

import datetime as clock
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gradetrail.errors import GradetrailError
from gradetrail.store import Store
from gradetrail.store.layout import FORMAT_FILE
from gradetrail.store.packing import pack
from gradetrail.store.repair import damaged
from gradetrail.warehouse.health import examine
from tests.faults.injection import forked
from tests.faults.operations import OPERATIONS, copied, history, run, write_spec
from tests.faults.steps import State, compared, outcome_of, state_of

FOLDERS = (
    "journal",
    "runs",
    "responses",
    "calls",
    "trials",
    "scores",
    "samples",
    "scorers",
    "tasks",
    "packs",
)
WHOLE_CHECKS = 20
"""Of so many flips that the digests notice, one is checked by all that `check` does."""
DAY_S = 86_400.0


@dataclass(frozen=True)
class Trial:
    """One fault, and what came of it."""

    fault: str
    lost: int = 0
    doubled: int = 0
    is_unnoticed: bool = False


def varied(folder: Path) -> None:
    """Make a warehouse that has files of every kind: packs, loose files, a journal that a killed run left."""
    history(folder)
    spec = write_spec(folder, "killed", 5)

    def killed() -> None:
        def watch(event: str, arguments: tuple[Any, ...]) -> None:
            if event == "os.link" and "/responses/" in str(arguments[1]):
                os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(watch)
        run(folder, spec)

    assert forked(killed) == -signal.SIGKILL
    assert [path for path in (folder / "warehouse" / "journal").glob("*.jsonl") if path.stat().st_size]


def kind_of(path: Path) -> str:
    """Name the kind of a file."""
    if path.parent.name == "packs":
        return f"packs/{path.name.partition('-')[0]}" if path.suffix == ".parquet" else "packs/record"
    return path.name if path.name == "gradetrail.json" else path.parent.name


def files_of(root: Path) -> list[Path]:
    """List the files that hold data, so that each kind comes in turn."""
    found = [root / "gradetrail.json", *(p for name in FOLDERS for p in (root / name).glob("*.*"))]
    files = sorted(p for p in found if p.suffix in (".json", ".jsonl", ".parquet"))
    turns: dict[str, int] = {}
    order = []
    for path in files:
        turns[kind_of(path)] = turns.get(kind_of(path), 0) + 1
        order.append((turns[kind_of(path)], path))
    return [path for _, path in sorted(order)]


def is_noticed(root: Path, name: str, *, wholly: bool) -> bool:
    """Say whether `check` finds something."""
    try:
        if not wholly and any(found == name for found, _ in damaged(Store(root, create=False).storage)):
            return True
        return bool(examine(root).findings)
    except GradetrailError:
        return name == FORMAT_FILE  # it cannot be opened, and says why


def reads(root: Path) -> list[str]:
    """Give what is read of a warehouse, damaged files left out; nothing if it cannot be opened."""
    try:
        return outcome_of(state_of(root, is_whole=False))
    except GradetrailError:
        return []


Spoil = Callable[[bytes, random.Random], bytes | None]


def flipped(whole: bytes, draw: random.Random) -> bytes:
    """Flip one bit."""
    bit = draw.randrange(8 * len(whole))
    spoilt = bytearray(whole)
    spoilt[bit // 8] ^= 1 << (bit % 8)
    return bytes(spoilt)


def cut(whole: bytes, draw: random.Random) -> bytes:
    """Keep the beginning."""
    return whole[: draw.randrange(len(whole))]


def gone(whole: bytes, draw: random.Random) -> None:
    """Keep nothing, not even the name."""
    return


def in_child(act: Callable[[], Any]) -> Any:
    """Run in a process of its own; give what it returned, through JSON."""
    with tempfile.NamedTemporaryFile(mode="r") as said:
        path = Path(said.name)
        assert forked(lambda: path.write_text(json.dumps(act()))) == 0
        return json.loads(path.read_text())


def spoilt(spoil: Spoil, n: int, what: str) -> Iterator[tuple[str, list[Trial]]]:
    """Spoil a file at a time, each kind in turn; n = 0 takes each file once."""
    with tempfile.TemporaryDirectory(prefix="gradetrail-") as scratch:
        folder = Path(scratch)
        in_child(lambda: varied(folder))
        root = folder / "warehouse"
        files = files_of(root)

        def trials() -> list[dict[str, Any]]:
            assert examine(root).findings == (), examine(root).findings
            before, draw, done = reads(root), random.Random(7), []
            for turn in range(n or len(files)):
                path = files[turn % len(files)]
                name, whole = path.relative_to(root).as_posix(), path.read_bytes()
                data = spoil(whole, draw)
                path.unlink() if data is None else path.write_bytes(data)
                wholly = turn % WHOLE_CHECKS == 0 or spoil is not flipped
                is_found = is_noticed(root, name, wholly=wholly)
                is_harmless = not is_found and reads(root) == before
                path.write_bytes(whole)
                done.append(asdict(Trial(name, is_unnoticed=not is_found and not is_harmless)))
            return done

        every = [Trial(**facts) for facts in in_child(trials)]
    kinds = len({kind_of(Path(t.fault)) for t in every})
    is_told = lambda t: what.startswith("flipped") or kind_of(Path(t.fault)) not in TOLD_OTHERWISE  # noqa: E731
    yield f"{what}, of {kinds} kinds", [t for t in every if is_told(t)]
    others = [Trial(t.fault) for t in every if not is_told(t)]
    if others:
        yield f"{what}: {', '.join(sorted(TOLD_OTHERWISE))}, which show as not answered or not graded", others


TOLD_OTHERWISE = {"journal", "scores"}
"""Kinds whose end or absence is an ordinary state: answers that did not come, grades that were not given."""


def counted(root: Path, before: State, after: State) -> dict[str, int]:
    """Compare what another process reads with what was there, and what must be there now."""
    facts: dict[str, int] = in_child(lambda: compared(state_of(root), before, after, set()))
    return {name: facts[name] for name in ("lost", "doubled")}


def state_in_child(root: Path) -> State:
    """Read a warehouse in a process of its own."""
    return {
        table: [(name, says) for name, says in rows]
        for table, rows in in_child(lambda: state_of(root)).items()
    }


def packers(n: int) -> Iterator[tuple[str, list[Trial]]]:
    """Let two packers pack one warehouse at once without taking turns."""
    with tempfile.TemporaryDirectory(prefix="gradetrail-") as scratch:
        template, work = Path(scratch) / "template", Path(scratch) / "work"
        template.mkdir()
        in_child(lambda: history(template))
        before = state_in_child(template / "warehouse")
        trials = []
        for number in range(n):
            root = copied(template, work) / "warehouse"
            children = []
            for _ in range(2):
                child = os.fork()
                if child == 0:
                    pack(Store(root).storage, "two at once")
                    os._exit(0)
                children.append(child)
            ended = [os.waitpid(child, 0)[1] for child in children]
            facts = counted(root, before, before)
            in_child(lambda: Store(root).compact(0.0) is not None)  # noqa: B023 - called at once
            again = counted(root, before, before)
            is_bad = ended != [0, 0] or state_in_child(root).keys() != before.keys()
            lost, doubled = facts["lost"] + again["lost"], facts["doubled"] + again["doubled"]
            trials.append(Trial(f"two packers {number}", lost, doubled, is_bad))
        yield "two packers at once, without a lock", trials


def shifted(seconds: float) -> None:
    """Set this process's clock back or forth: what the product asks, not the times of files."""
    real_time, real = time.time, clock.datetime
    shift = clock.timedelta(seconds=seconds)

    class Shifted(real):  # type: ignore[valid-type, misc]
        @classmethod
        def now(cls, tz: clock.tzinfo | None = None) -> Any:
            return real.now(tz) + shift

    time.time = lambda: real_time() + seconds
    for name, module in list(sys.modules.items()):
        if name.startswith("gradetrail") and getattr(module, "datetime", None) is real:
            module.datetime = Shifted  # type: ignore[attr-defined]


def jumps(n: int) -> Iterator[tuple[str, list[Trial]]]:
    """Do each of the first n operations after the clock has jumped by a day."""
    names = [name for name in OPERATIONS if not name.startswith("answers")][:n]
    for seconds, way in ((-DAY_S, "back"), (DAY_S, "forth")):
        trials = []
        for name in names:
            with tempfile.TemporaryDirectory(prefix="gradetrail-") as scratch:
                template, work, operation = (
                    Path(scratch) / "template",
                    Path(scratch) / "work",
                    OPERATIONS[name],
                )
                template.mkdir()
                in_child(lambda: operation.prepare(template))  # noqa: B023 - called at once
                root = copied(template, work) / "warehouse"
                in_child(lambda: operation.act(work))  # noqa: B023
                before, after = state_in_child(template / "warehouse"), state_in_child(root)
                copied(template, work)

                def later() -> None:
                    shifted(seconds)  # noqa: B023
                    operation.act(work)  # noqa: B023
                    Store(root).compact()  # noqa: B023

                in_child(later)
                facts = counted(root, before, after)
                now = state_in_child(root)
                is_other = sorted(map(len, now.values())) != sorted(map(len, after.values()))
                is_ill = in_child(lambda: examine(root).findings != ())  # noqa: B023
                trials.append(Trial(name, facts["lost"], facts["doubled"], is_other or is_ill))
        yield f"clock set {way} by a day", trials


KINDS: dict[str, Callable[[int], Iterator[tuple[str, list[Trial]]]]] = {
    "bits": lambda n: spoilt(flipped, n, "flipped bit"),
    "cuts": lambda n: spoilt(cut, n, "file cut short"),
    "vanished": lambda n: spoilt(gone, n, "file vanished"),
    "packers": packers,
    "clock": jumps,
}
"""Each gives rows of the table: name and trials."""
