"""Streamed chat completions, put together as the completion that would have come whole.

Invariant: a completion is whole once its finish reason and the last word `[DONE]` have come; a server
that leaves either out cannot be told from one that broke off.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gradetrail.providers.forms import plain_text
from gradetrail.providers.reply import block

STREAM_FIELDS: Mapping[str, Any] = {"stream": True, "stream_options": {"include_usage": True}}
"""Asks for a stream, and for token counts at its end."""


@dataclass(slots=True)
class _Call:
    """A tool call in the making."""

    id: str = ""
    kind: str = "function"
    name: str = ""
    arguments: list[str] = field(default_factory=list)

    def whole(self) -> dict[str, Any]:
        """Give it as a message holds it."""
        asked = "input" if self.kind == "custom" else "arguments"
        said = {"name": self.name, asked: "".join(self.arguments)}
        return {"id": self.id or None, "type": self.kind, self.kind: said}


class ChatStream:
    """Puts the chunks of one completion together; of several choices the first counts."""

    def __init__(self) -> None:
        self.has_token = False
        self.is_complete = False
        self._top: dict[str, Any] = {}
        self._choice: dict[str, Any] = {}
        self._texts: dict[str, list[str]] = {}
        self._details: dict[Any, dict[str, Any]] = {}
        self._calls: list[_Call] = []
        self._places: dict[Any, _Call] = {}
        self._logprobs: list[Any] = []

    def add(self, event: Mapping[str, Any]) -> None:
        """Take the next chunk."""
        for name in ("id", "model", "created", "system_fingerprint", "usage"):
            if event.get(name) and (name == "usage" or name not in self._top):
                self._top[name] = event[name]
        for choice in event.get("choices") or ():
            if (choice.get("index") or 0) == 0:
                self._add_choice(choice)

    def _add_choice(self, choice: Mapping[str, Any]) -> None:
        # some servers give a reason with every piece: only what comes without one comes too late
        is_late = "finish_reason" in self._choice and not choice.get("finish_reason")
        if choice.get("finish_reason"):
            self._choice["finish_reason"] = choice["finish_reason"]
        if choice.get("error") is not None:
            self._choice["error"] = choice["error"]
        if choice.get("usage"):
            self._top.setdefault("usage", choice["usage"])
        if is_late:
            return
        self._logprobs.extend(block(choice.get("logprobs")).get("content") or ())
        delta = block(choice.get("delta"))
        for name in ("content", "refusal", "reasoning_content", "reasoning"):
            self._add_text(name, delta.get(name))
        for detail in delta.get("reasoning_details") or ():
            self._add_detail(detail)
        for call in delta.get("tool_calls") or ():
            self._add_call(call)
        if isinstance(delta.get("function_call"), Mapping):
            self._add_call({"index": "function_call", "function": delta["function_call"]})

    def _add_text(self, name: str, said: Any) -> None:
        if isinstance(said, list):
            # parts: thoughts apart from what is said
            for part in said:
                is_thought = block(part).get("type") == "thinking"
                self._add_text(
                    "reasoning_content" if is_thought else name,
                    plain_text(part.get("thinking")) if is_thought else plain_text([part]),
                )
        elif said is not None and not isinstance(said, str):
            raise TypeError(f"{name} is {type(said).__name__}")
        elif said:
            self.has_token = True
            self._texts.setdefault(name, []).append(said)

    def _add_detail(self, detail: Mapping[str, Any]) -> None:
        known = self._details.setdefault(detail.get("index"), {})
        for name, value in detail.items():
            if name in ("text", "summary") and isinstance(value, str):
                self.has_token = True
                known[name] = known.get(name, "") + value
            else:
                known[name] = value

    def _add_call(self, piece: Mapping[str, Any]) -> None:
        said = piece.get("function") or piece.get("custom") or {}
        call = self._call_of(piece)
        call.id = piece.get("id") or call.id
        if "custom" in piece:
            call.kind = "custom"
        # some servers repeat the name with each piece
        call.name = call.name or said.get("name") or ""
        arguments = said.get("arguments", said.get("input"))
        if arguments is not None:
            text = arguments if isinstance(arguments, str) else json.dumps(arguments, separators=(",", ":"))
            call.arguments.append(text)
        self.has_token = True

    def _call_of(self, piece: Mapping[str, Any]) -> _Call:
        """Find the call that a piece belongs to: by index, unless its id says that it is another one."""
        number = piece.get("index")
        call = self._places.get(number) if number is not None or not piece.get("id") else None
        if call is None and number is None and not piece.get("id") and self._calls:
            call = self._calls[-1]
        if call is None or (piece.get("id") and call.id and piece["id"] != call.id):
            call = self._places[number] = _Call()
            self._calls.append(call)
        return call

    def end(self) -> None:
        """Take the last word, or the end of the reply."""
        self.is_complete = "finish_reason" in self._choice or "error" in self._choice

    def body(self) -> dict[str, Any]:
        """Give the completion."""
        message: dict[str, Any] = {"role": "assistant", "content": None}
        message |= {name: "".join(texts) for name, texts in self._texts.items()}
        if self._details:
            message["reasoning_details"] = list(self._details.values())
        if self._calls:
            message["tool_calls"] = [call.whole() for call in self._calls]
        choice = {"index": 0, "finish_reason": None, **self._choice, "message": message}
        if self._logprobs:
            choice["logprobs"] = {"content": self._logprobs}
        return {"object": "chat.completion", **self._top, "choices": [choice]}
