"""The user's own Python: a class with `model_id` and `generate(messages, sample)`.

Invariant: whatever that code raises becomes one error row that names its file and line; it never
stops the run, and a call that hangs holds up neither the loop nor the end of the process.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import hashlib
import importlib.util
import inspect
import json
import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gradetrail.errors import Fault, ProviderError, SpecError
from gradetrail.providers.answers import integer_or_none, number_or_none
from gradetrail.providers.failures import Secrets
from gradetrail.providers.response import STOP_REASONS, Response, ToolCall, Usage, with_repaired_text
from gradetrail.request import Request
from gradetrail.spec import Model, Spec


@dataclass(frozen=True, slots=True)
class Generation:
    """What `generate` returns where there is more to say than the text."""

    text: str
    confidence: float | None = None
    """In [0, 1]."""
    token_nll: float | None = None
    """Sum of -ln p over the answer's tokens, in nats; not negative."""
    token_count: int | None = None
    stop_reason: str | None = None
    """stop, length, tool, refusal, filter or other."""
    reasoning: str | None = None
    tool_calls: Sequence[ToolCall | Mapping[str, Any]] = ()
    """Each a ToolCall, or a mapping: `name`, `arguments` (an object or its JSON text), if wanted `id`."""
    input_tokens: int | None = None
    output_tokens: int | None = None


NEEDED = {
    "model_id": 'add `model_id = "NAME"` to the class: it is kept with each answer as the model that served',
    "generate": "add `def generate(self, messages, sample):`, which gives text or a gradetrail.Generation",
}
"""What a class must have, and how to add it."""
_OPTIONAL = (
    "confidence", "token_nll", "token_count", "stop_reason", "reasoning", "tool_calls", "input_tokens",
    "output_tokens",
)  # fmt: skip
_made: dict[tuple[str, str, str], Any] = {}
"""Objects made while checking a spec, waiting for the run that uses them."""


def parse(result: Any, model_id: str | None) -> Response:
    """Turn what `generate` returned into a Response; ValueError or TypeError for anything else."""
    if isinstance(result, str):
        return with_repaired_text(Response(text=result, served_model=model_id))
    if not isinstance(getattr(result, "text", None), str):
        raise TypeError(f"`generate` returned {type(result).__name__}, neither text nor a Generation")
    own = {name: getattr(result, name, None) for name in _OPTIONAL}
    confidence = number_or_none(own["confidence"], "confidence")
    if confidence is not None and confidence > 1:
        raise ValueError(f"`confidence` {confidence:g} is not in [0, 1]")
    stop = own["stop_reason"]
    return with_repaired_text(
        Response(
            text=result.text,
            stop_reason=stop if stop is None or stop in STOP_REASONS else "other",
            raw_stop_reason=stop,
            reasoning=own["reasoning"],
            tool_calls=tuple(_tool_call(call) for call in own["tool_calls"] or ()),
            served_model=model_id,
            usage=Usage(
                input_tokens=integer_or_none(own["input_tokens"], "input_tokens"),
                output_tokens=integer_or_none(own["output_tokens"], "output_tokens"),
            ),
            confidence=confidence,
            token_nll=number_or_none(own["token_nll"], "token_nll"),
            token_count=integer_or_none(own["token_count"], "token_count"),
        )
    )


def _tool_call(call: Any) -> ToolCall:
    """Read a call in either form; TypeError for anything else."""
    if isinstance(call, ToolCall):
        return call
    name = call.get("name") if isinstance(call, Mapping) else None
    if not isinstance(name, str):
        told = f"`tool_calls` holds a {type(call).__name__} without a name"
        raise TypeError(f"{told}: give ToolCall(name, arguments) or {{'name': ..., 'arguments': {{...}}}}")
    arguments, number = call.get("arguments", {}), call.get("id")
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return ToolCall(name, text, None if number is None else str(number))


def make_adapter(path: Path, shown: str, name: str) -> Any:
    """Load the file and make its object, which waits for the run that takes it.

    Raises SpecError, naming file and line of what went wrong.
    """
    key = _made_key(path, name)
    if key in _made:
        return _made[key]
    spec = importlib.util.spec_from_file_location(f"gradetrail_adapter_{key[2][:12]}", path)
    if spec is None or spec.loader is None:
        raise SpecError(Fault("not a Python file", shown))
    module = importlib.util.module_from_spec(spec)
    # dataclasses and pickles look their module up by name
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
        made = getattr(module, name, None)
        if not callable(made):
            raise SpecError(
                Fault(f"there is no class `{name}` in it", shown, fix="name another with `class:`")
            )
        adapter = made()
    except SpecError:
        raise
    except (Exception, SystemExit) as error:
        raise SpecError(Fault(_described(error, path, Secrets(_secret_values())), shown)) from None
    missing = [
        Fault(f"`{name}` has no `{attribute}`", shown, fix=fix)
        for attribute, fix in NEEDED.items()
        if getattr(adapter, attribute, None) is None
    ]
    if missing:
        raise SpecError(*missing)
    if not callable(adapter.generate):
        raise SpecError(Fault(f"`{name}.generate` is not a method", shown, fix=NEEDED["generate"]))
    _made[key] = adapter
    return adapter


def _made_key(path: Path, name: str) -> tuple[str, str, str]:
    resolved = path.resolve()
    return str(resolved), name, hashlib.sha256(str(resolved).encode() + b"\0" + path.read_bytes()).hexdigest()


def faults(spec: Spec, model: Model, where: str, place: str) -> Iterator[Fault]:
    """Load the file and make its object."""
    if model.path is None:
        return
    path = spec.path(model.path)
    if not path.is_file():
        yield Fault(f"there is no file `{model.path}`", where, f"{place}.path")
        return
    try:
        make_adapter(path, model.path, model.class_)
    except SpecError as error:
        yield from (Fault(f.message, f.where or where, f"{place}.path", f.fix) for f in error.faults)


def _described(error: BaseException, path: Path, secrets: Secrets) -> str:
    """Give type, message and the last place inside the user's file."""
    place, trace = "", error.__traceback__
    while trace is not None:
        if Path(trace.tb_frame.f_code.co_filename).name == path.name:
            place = f" ({path.name}:{trace.tb_lineno})"
        trace = trace.tb_next
    if isinstance(error, SyntaxError) and error.lineno is not None:
        place = f" ({path.name}:{error.lineno})"
    said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return secrets.redact(said) + place


def _secret_values() -> list[str]:
    """Give the environment's values that look secret, for a message of the user's code may hold them."""
    marks = ("KEY", "TOKEN", "SECRET", "PASSWORD")
    return [v for n, v in os.environ.items() if len(v) >= 8 and any(mark in n.upper() for mark in marks)]


class Python:
    """Asks an object of the user's."""

    def __init__(self, spec: Spec, model: Model) -> None:
        self._path = spec.path(model.path or "")
        self._adapter = make_adapter(self._path, model.path or "", model.class_)
        _made.pop(_made_key(self._path, model.class_), None)
        self._is_async = inspect.iscoroutinefunction(self._adapter.generate)
        self._model_id = str(self._adapter.model_id)
        self._secrets = Secrets(_secret_values())

    async def complete(self, request: Request, timeout_s: float) -> Response:
        """Ask once; a synchronous `generate` runs in a thread of its own."""
        messages = copy.deepcopy([dict(message) for message in request.messages])
        sample = copy.deepcopy(dict(request.sample or {}))
        deadline = asyncio.timeout(timeout_s)
        try:
            async with deadline:
                if self._is_async:
                    result = await self._adapter.generate(messages, sample)
                else:
                    result = await _in_thread(lambda: self._adapter.generate(messages, sample))
                    if inspect.isawaitable(result):
                        result = await result
            return parse(result, self._model_id)
        except (Exception, SystemExit) as error:
            if isinstance(error, TimeoutError) and deadline.expired():
                raise ProviderError("timeout", f"no answer within {timeout_s:g} s") from None
            raise ProviderError("adapter", _described(error, self._path, self._secrets)) from None

    async def close(self) -> None:
        """Close the object, if it can be closed."""
        close = getattr(self._adapter, "close", None)
        if callable(close):
            try:
                done = close()
                if inspect.isawaitable(done):
                    await done
            except (Exception, SystemExit) as error:
                # the answers are in: a failing close is no reason to lose the run
                said = _described(error, self._path, self._secrets)
                logging.getLogger("gradetrail").warning("closing %s: %s", self._path.name, said)


async def _in_thread(work: Callable[[], Any]) -> Any:
    """Run in a daemon thread, which, unlike a pool's, does not keep the process alive when it hangs."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def settle(result: Any, error: BaseException | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)

    def run() -> None:
        result, failed = None, None
        try:
            result = work()
        except BaseException as error:
            # a future takes no StopIteration, and a CancelledError in it would look like our own
            is_plain = isinstance(error, Exception | SystemExit) and not isinstance(error, StopIteration)
            failed = error if is_plain else RuntimeError(type(error).__name__)
        # the loop is closed when the run ended before the call did
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, result, failed)

    threading.Thread(target=run, name="gradetrail-adapter", daemon=True).start()
    return await future
