"""The log of a run: one JSON line for each attempt, in `logs/<run_id>.jsonl` of the warehouse.

Invariant: the log is talk and not data: nothing reads it back, nothing fails because of it, and no
secret is in it.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

import orjson

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


class RunLog:
    """Writes the log of one run; where that fails (a full disk), the run goes on without it."""

    def __init__(self, home: Path, run_id: str, secrets: tuple[str, ...]) -> None:
        self._file = _opened(home / "logs", run_id)
        self._run_id, self._secrets = run_id, secrets
        self._lines: list[dict[str, Any]] = []

    def attempt(self, **fields: Any) -> None:
        """Note one attempt: timestamp (of its start), model, request_key, outcome, latency_ms, tokens, ..."""
        error = fields.get("error")
        if error:
            fields["error"] = redacted(error, self._secrets)
        self._lines.append({"event": "attempt", "run_id": self._run_id, **fields})

    def flush(self) -> None:
        """Hand what was noted to the operating system."""
        lines, self._lines = self._lines, []
        with contextlib.suppress(OSError):
            self._file.write(b"".join(_line(fields) for fields in lines))
            self._file.flush()

    def close(self) -> None:
        """Flush, and close the file."""
        self.flush()
        with contextlib.suppress(OSError):
            self._file.close()


def _line(fields: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_UTC_Z)
    except TypeError:
        # integers beyond 64 bits
        return json.dumps(fields, default=str).encode() + b"\n"


def _opened(folder: Path, run_id: str) -> BinaryIO:
    try:
        folder.mkdir(exist_ok=True)
        return (folder / f"{run_id}.jsonl").open("ab", buffering=1 << 16)
    except OSError:
        return Path(os.devnull).open("ab")
