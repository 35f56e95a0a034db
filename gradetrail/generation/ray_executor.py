"""Makes the calls on Ray workers; the driver plans, counts, retries and journals as it does alone.

Invariant: workers hold no store and decide nothing, so plan and rows are the same whatever executes.
A worker that dies loses only the calls under way in it: those are sent again, to another.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from gradetrail.errors import Fault, GradetrailError, ProviderError
from gradetrail.generation.log import environment_of
from gradetrail.providers import Provider, call_shape, open_provider
from gradetrail.providers.response import Response, ToolCall, Usage
from gradetrail.ray_cluster import Cluster
from gradetrail.request import Request
from gradetrail.spec import Spec, spec_from

MAX_DEATHS = 100
"""Workers that may die in one generation before the machine is taken to be at fault."""


class Asker:
    """What runs in a worker: opens the providers of a spec and makes single calls."""

    def __init__(self, spec: Mapping[str, Any], base: str, environment: Mapping[str, str], room: int) -> None:
        from pathlib import Path

        os.environ.update(environment)
        self._spec: Spec = spec_from(spec, base=Path(base))
        self._room = room
        self._providers: dict[str, Provider] = {}
        self._shapes = {model.display: call_shape(self._spec, model) for model in self._spec.models}

    async def complete(self, model: str, request: Mapping[str, Any], timeout_s: float) -> dict[str, Any]:
        """Make one call; give the response, or the failure, as plain data."""
        shape = self._shapes[model]
        if model not in self._providers:
            found = next(m for m in self._spec.models if m.display == model)
            self._providers[model] = open_provider(
                self._spec, found, shape, concurrency=self._room, timeout_s=timeout_s
            )
        try:
            response = await self._providers[model].complete(Request(shape=shape, **request), timeout_s)
        except ProviderError as error:
            details = {
                "http_status": error.http_status,
                "retry_after_s": error.retry_after_s,
                "is_unreachable": error.is_unreachable,
                "is_final": error.is_final,
            }
            return {"error": [error.error_type, str(error), details]}
        return {"response": asdict(response)}

    def pid(self) -> int:
        """Give the worker's process id."""
        return os.getpid()


def _response(data: Mapping[str, Any]) -> Response:
    calls = tuple(ToolCall(**call) for call in data["tool_calls"])
    return Response(**{**data, "tool_calls": calls, "usage": Usage(**data["usage"])})


class RayPool:
    """The workers of one generation."""

    def __init__(self, spec: Spec, *, workers: int | None, concurrency: int) -> None:
        self._cluster = Cluster(workers)
        self._ray = self._cluster.ray
        count = workers or self._cluster.cores
        self._arguments = (
            spec.model_dump(mode="json", by_alias=True, exclude_unset=True),
            str(spec.base.resolve()),
            environment_of(spec),
            max(1, -(-concurrency // count)),
        )
        self._concurrency = concurrency
        self._class: Any = self._ray.remote(Asker)
        self._actors: list[Any] = [self._start() for _ in range(count)]
        self._turn = itertools.cycle(range(count))
        self.deaths = 0

    def _start(self) -> Any:
        options = {"num_cpus": 0, "max_restarts": 0, "max_concurrency": self._concurrency}
        return self._class.options(scheduling_strategy="SPREAD", **options).remote(*self._arguments)

    def pids(self) -> list[int]:
        """Give the process ids of the workers."""
        return [int(pid) for pid in self._ray.get([actor.pid.remote() for actor in self._actors])]

    async def complete(self, model: str, request: Request, timeout_s: float) -> Response:
        """Make one call in the next worker; again in a new one if that dies meanwhile."""
        from ray.exceptions import RayActorError

        data = {
            "messages": [dict(message) for message in request.messages],
            "epoch": request.epoch,
            "key": request.key,
            "sample_id": request.sample_id,
            "sample": None if request.sample is None else json.loads(json.dumps(request.sample)),
            "sample_hash": request.sample_hash,
            "prompt": request.prompt,
        }
        while True:
            place = next(self._turn)
            actor = self._actors[place]
            try:
                answer = await actor.complete.remote(model, data, timeout_s)
            except RayActorError as error:
                if error.actor_init_failed:
                    fix = "install gradetrail and the spec's files on every node, as they are here"
                    last = str(error).strip().splitlines()[-1]
                    raise GradetrailError(Fault(f"a Ray worker cannot start: {last}", fix=fix)) from None
                self._replace(place, actor)
                if self.deaths > MAX_DEATHS:
                    raise ProviderError("connection", f"workers keep dying: {error}") from None
                continue
            if "error" in answer:
                kind, message, details = answer["error"]
                raise ProviderError(kind, message, **details)
            return _response(answer["response"])

    def _replace(self, place: int, dead: Any) -> None:
        if self._actors[place] is dead:
            self.deaths += 1
            self._actors[place] = self._start()

    async def close(self) -> None:
        """Stop the workers, and the cluster if it was started here."""
        for actor in self._actors:
            self._ray.kill(actor, no_restart=True)
        await asyncio.to_thread(self._cluster.close)


class RayProvider:
    """A provider whose calls are made in the pool."""

    def __init__(self, pool: RayPool, model: str) -> None:
        self._pool, self._model = pool, model

    async def complete(self, request: Request, timeout_s: float) -> Response:
        """Ask once, in a worker."""
        return await self._pool.complete(self._model, request, timeout_s)

    async def close(self) -> None:
        """Nothing of its own to close."""
