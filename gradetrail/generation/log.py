"""The log of a run: one JSON line for each attempt, in `logs/<run_id>.jsonl` of the warehouse.

Invariant: the log is talk and not data: nothing reads it back, nothing fails because of it, and no
secret is in it.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, MutableMapping
from pathlib import Path
from typing import Any, TextIO

from gradetrail.spec import Spec

VENDOR_KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY")
SHORTEST_SECRET = 6
"""Shorter values are not looked for: they would hide ordinary words."""


def environment_of(spec: Spec) -> dict[str, str]:
    """Collect the environment variables that the models of a spec read: keys and `${NAME}`."""
    names = set(VENDOR_KEYS)
    for model in spec.models:
        texts = [model.base_url or "", *model.headers.values()]
        names.update(name for text in texts for name in re.findall(r"\$\{(\w+)\}", text))
        if model.api_key_env:
            names.add(model.api_key_env)
    return {name: os.environ[name] for name in sorted(names) if name in os.environ}


def secrets_of(spec: Spec) -> tuple[str, ...]:
    """List the values that must not be shown: keys and what headers hold."""
    shown = {name for model in spec.models for name in re.findall(r"\$\{(\w+)\}", model.base_url or "")}
    hidden = {value for name, value in environment_of(spec).items() if name not in shown}
    hidden |= {value for model in spec.models for value in model.headers.values()}
    return tuple(sorted((value for value in hidden if len(value) >= SHORTEST_SECRET), key=len, reverse=True))


def redacted(text: str, secrets: Iterable[str]) -> str:
    """Put `***` in place of every secret."""
    for secret in secrets:
        text = text.replace(secret, "***")
    return text


class _Lines:
    """The end of the chain: writes lines, and leaves it to the engine's tick when to flush."""

    def __init__(self, file: TextIO) -> None:
        self._write = file.write

    def info(self, line: str) -> None:
        self._write(line + "\n")


class RunLog:
    """Writes the log of one run; where that fails (a full disk), the run goes on without it."""

    def __init__(self, root: Path, run_id: str, secrets: tuple[str, ...]) -> None:
        import orjson
        import structlog

        self._file = _opened(root / "logs", run_id)

        def redact(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
            if event.get("error"):
                event["error"] = redacted(event["error"], secrets)
            return event

        self._log = structlog.wrap_logger(
            _Lines(self._file),
            processors=[
                structlog.processors.TimeStamper(fmt="iso", utc=True),
                redact,
                structlog.processors.JSONRenderer(serializer=lambda event, **_: orjson.dumps(event).decode()),
            ],
            wrapper_class=structlog.make_filtering_bound_logger("info"),
            run_id=run_id,
        )

    def attempt(self, **fields: Any) -> None:
        """Note one attempt: model, request_key, attempt, outcome, latency_ms, tokens, error."""
        with contextlib.suppress(OSError):
            self._log.info("attempt", **fields)

    def flush(self) -> None:
        """Hand what was noted to the operating system."""
        with contextlib.suppress(OSError):
            self._file.flush()

    def close(self) -> None:
        """Close the file."""
        with contextlib.suppress(OSError):
            self._file.close()


def _opened(folder: Path, run_id: str) -> TextIO:
    try:
        folder.mkdir(exist_ok=True)
        return (folder / f"{run_id}.jsonl").open("a", encoding="utf-8", buffering=1 << 16)
    except OSError:
        return Path(os.devnull).open("a", encoding="utf-8")
