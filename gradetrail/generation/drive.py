"""Runs the engine on what a plan still owes, with the providers of its models.

Invariant: requests are rendered as they are needed, in plan order; a provider is opened when the first
request of its model comes, and all are closed at the end.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from gradetrail.errors import BrokenOffError, Fault, StoreError
from gradetrail.generation.conversation import Scripts
from gradetrail.generation.engine import Ending, Engine
from gradetrail.generation.outstanding import Outstanding
from gradetrail.generation.plan import Plan
from gradetrail.generation.trials import PLANNED, rows_of
from gradetrail.generation.work import Work
from gradetrail.providers import Provider, open_provider
from gradetrail.request import CallShape
from gradetrail.spec import Model, Spec

if TYPE_CHECKING:
    from gradetrail.generation.ray_executor import RayPool


@contextlib.contextmanager
def breaking_off(run_id: str) -> Iterator[None]:
    """Raise BrokenOffError for a warehouse that fails inside, where calls are made."""
    try:
        yield
    except StoreError as error:
        fix = f"run the same command again, or `gradetrail run {run_id}`: it goes on with what is there"
        broken = Fault("the run broke off; what was answered is kept", run_id, fix=fix)
        raise BrokenOffError(*error.faults, broken) from error


def drive(engine: Engine, plan: Plan, todo: Outstanding) -> Ending:
    """Ask what a plan still owes."""
    return drive_work(engine, plan.spec, lambda providers: _work(plan, todo, providers))


def drive_work(engine: Engine, spec: Spec, work: Callable[[Providers], Iterator[Work]]) -> Ending:
    """Run the engine to its end, on a thread of its own where a loop is running already (notebooks).

    `work` makes the requests, with providers of the models of `spec`.
    """

    async def main() -> Ending:
        providers = Providers(spec, engine)
        try:
            return await engine.run(work(providers))
        finally:
            await providers.close()

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(main())
    outcome: list[Ending | BaseException] = []

    def target() -> None:
        try:
            outcome.append(asyncio.run(main()))
        except BaseException as error:
            outcome.append(error)

    thread = threading.Thread(target=target, name="gradetrail-generate")
    thread.start()
    thread.join()
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    return outcome[0]


class Providers:
    """The providers of a generation, each opened when the first request of its model comes."""

    def __init__(self, spec: Spec, engine: Engine) -> None:
        self._spec, self._engine = spec, engine
        self._open: dict[str, Provider] = {}
        self._pool: RayPool | None = None

    def of(self, model: Model, shape: CallShape) -> Provider:
        """Give the provider of a model."""
        if model.display not in self._open:
            self._open[model.display] = self._make(model, shape)
        return self._open[model.display]

    def _make(self, model: Model, shape: CallShape) -> Provider:
        spec, knobs, concurrency = self._spec, self._engine.knobs, self._engine.gate.ceiling
        if knobs.executor == "ray":
            from gradetrail.generation.ray_executor import RayPool, RayProvider

            if self._pool is None:
                self._pool = RayPool(spec, workers=knobs.workers, concurrency=concurrency)
            return RayProvider(self._pool, model.display)
        return open_provider(spec, model, shape, concurrency=concurrency, timeout_s=knobs.timeout_s)

    async def close(self) -> None:
        """Let all connections and workers go."""
        for provider in self._open.values():
            await provider.close()
        if self._pool is not None:
            await self._pool.close()


def _work(plan: Plan, todo: Outstanding, providers: Providers) -> Iterator[Work]:
    """Yield the requests to make in plan order, rendered as they are needed."""
    sharing = _sharing(todo)
    scripts = Scripts(plan)
    for row in rows_of(todo.requests, [*PLANNED, "entrant", "sample"]):
        entrant, key = plan.entrants[row["entrant"]], row["request_key"]
        trials = [_planned(row)]
        if key in sharing:
            trials += map(_planned, rows_of(todo.asked.take(sharing[key]), PLANNED))
        yield Work(
            provider=providers.of(entrant.model, entrant.shape),
            trials=trials,
            canonical=scripts.canonical(row),
            turn=scripts.turns(row),
            answers=list(todo.turn_answers.get(key, ())),
            keep_raw=bool(plan.spec.option(entrant.model, "keep_raw")),
            keep_logprobs=bool(entrant.shape.params.get("logprobs")),
        )


def _sharing(todo: Outstanding) -> dict[str, list[int]]:
    """Give the rows of `todo.asked` that wait for the request of another, by request_key."""
    import pyarrow.compute as pc

    rows: dict[str, list[int]] = {}
    if todo.n_requests < todo.asked.num_rows:
        waiting: Any = pc.indices_nonzero(pc.invert(todo.asked.column("is_first_of_key")))
        keys = todo.asked.column("request_key").take(waiting)
        for number, key in zip(waiting.to_pylist(), keys.to_pylist(), strict=True):
            rows.setdefault(str(key), []).append(int(number))
    return rows


def _planned(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in PLANNED if row[name] is not None}
