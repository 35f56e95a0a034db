"""Streamed Anthropic messages, put together as the message that would have come whole.

Invariant: a message is whole once `message_stop` has come. It also says when Anthropic wants a stream:
where an answer may take longer than ten minutes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from gradetrail.providers.reply import block
from gradetrail.request import CallShape

MOST_TOKENS_WHOLE = 21_333
"""max_tokens above which the SDK refuses to ask without streaming: 10 minutes at 128,000 tokens an hour."""
SLOW_MODELS = frozenset(
    {
        "claude-opus-4-0", "claude-opus-4-20250514", "claude-opus-4@20250514", "claude-4-opus-20250514",
        "claude-opus-4-1@20250805", "anthropic.claude-opus-4-20250514-v1:0",
        "anthropic.claude-opus-4-1-20250805-v1:0",
    }
)  # fmt: skip
"""Models for which it refuses earlier."""
MOST_TOKENS_SLOW = 8_192

_PIECES = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}


def needs_stream(shape: CallShape) -> bool:
    """Tell whether an answer may be so long that Anthropic takes the request only with a stream."""
    asked = shape.params.get("max_tokens")
    most = MOST_TOKENS_SLOW if shape.model in SLOW_MODELS else MOST_TOKENS_WHOLE
    return isinstance(asked, int) and asked > most


class AnthropicStream:
    """Puts the events of one message together."""

    def __init__(self) -> None:
        self.has_token = False
        self.is_complete = False
        self._message: dict[str, Any] = {}
        self._blocks: dict[int, dict[str, Any]] = {}
        self._texts: dict[tuple[int, str], list[str]] = {}
        self._inputs: dict[int, list[str]] = {}

    def add(self, event: Mapping[str, Any]) -> None:
        """Take the next event."""
        kind = event.get("type")
        if kind == "message_start":
            self._message = dict(event["message"])
        elif kind == "content_block_start":
            self._blocks[event["index"]] = dict(event["content_block"])
        elif kind == "content_block_delta":
            self._add_piece(event["index"], event["delta"])
        elif kind == "message_delta":
            self._message |= event["delta"]
            # counts are totals so far; what is not said again stays
            said = {name: value for name, value in block(event.get("usage")).items() if value is not None}
            self._message["usage"] = {**block(self._message.get("usage")), **said}
        elif kind == "message_stop":
            self.is_complete = True

    def _add_piece(self, index: int, delta: Mapping[str, Any]) -> None:
        name = _PIECES.get(delta["type"])
        if name is not None:
            self._texts.setdefault((index, name), []).append(delta[name])
            self.has_token = self.has_token or bool(delta[name])
        elif delta["type"] == "input_json_delta":
            self._inputs.setdefault(index, []).append(delta["partial_json"])
            self.has_token = True

    def end(self) -> None:
        """Take a last word that this API does not need."""

    def body(self) -> dict[str, Any]:
        """Give the message."""
        blocks = {index: dict(content) for index, content in self._blocks.items()}
        for (index, name), pieces in self._texts.items():
            blocks[index][name] = (blocks[index].get(name) or "") + "".join(pieces)
        for index, pieces in self._inputs.items():
            text = "".join(pieces)
            if text:
                blocks[index]["input"] = _input(text)
        return {**self._message, "content": [blocks[index] for index in sorted(blocks)]}


def _input(text: str) -> Any:
    """Parse a tool's input; one that was cut off by max_tokens stays text."""
    try:
        return json.loads(text)
    except ValueError:
        return text
