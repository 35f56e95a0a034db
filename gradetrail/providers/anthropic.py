"""Anthropic through its SDK: the Messages API.

Invariant: only what the spec states is sent. A leading system message is `system`. `reasoning` is
an effort (output_config.effort), `adaptive` or `none` (thinking), or a budget in tokens (thinking).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from gradetrail.providers.anthropic_stream import AnthropicStream, needs_stream
from gradetrail.providers.endpoint import Endpoint, Limits
from gradetrail.providers.forms import (
    anthropic_messages,
    anthropic_output_format,
    anthropic_tool_choice,
    anthropic_tools,
    merged,
    split_system,
)
from gradetrail.providers.reply import block, count, text_or_none
from gradetrail.providers.response import Response, ToolCall, Usage
from gradetrail.providers.sdk import Line, make_client
from gradetrail.providers.streaming import Api
from gradetrail.request import CallShape, Request, params_at

SENDS = frozenset({"max_tokens", "temperature", "top_p", "top_k", "stop", "reasoning", "extra"})
"""Parameters of the Messages API; newer models take no temperature, top_p and top_k."""
LEAST_BUDGET = 1024
"""Tokens that a thinking budget has at least."""
STOP_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool",
    "refusal": "refusal",
}


def fixed_part(shape: CallShape, epoch: int) -> dict[str, Any]:
    """Give the body but for its messages: equal for all samples of an entrant and epoch."""
    params = params_at(shape.params, epoch)
    extra = params.pop("extra", None) or {}
    reasoning = params.pop("reasoning", None)
    body: dict[str, Any] = {"model": shape.model}
    for name, value in params.items():
        body["stop_sequences" if name == "stop" else name] = value
    output: dict[str, Any] = {}
    if isinstance(reasoning, int):
        body["thinking"] = {"type": "enabled", "budget_tokens": reasoning}
    elif reasoning == "adaptive":
        body["thinking"] = {"type": "adaptive"}
    elif reasoning == "none":
        body["thinking"] = {"type": "disabled"}
    elif reasoning is not None:
        output["effort"] = reasoning
    if shape.response_format is not None:
        output["format"] = anthropic_output_format(shape.response_format)
    if output:
        body["output_config"] = output
    if shape.tools is not None:
        body["tools"] = anthropic_tools(shape.tools)
    if shape.tool_choice is not None:
        body["tool_choice"] = anthropic_tool_choice(shape.tool_choice)
    return merged(body, extra)


def payload(request: Request) -> dict[str, Any]:
    """Give the body of one call."""
    system, rest = split_system(request.messages)
    own: dict[str, Any] = {"messages": anthropic_messages(rest)}
    if system is not None:
        own["system"] = system
    return {**fixed_part(request.shape, request.epoch), **own}


def is_answer(body: Any) -> bool:
    """Tell whether a body is a message."""
    fields = block(body)
    return fields.get("type") == "message" and isinstance(fields.get("content"), list)


def parse(body: Mapping[str, Any]) -> Response:
    """Turn a message into a Response; thinking before the text is the normal order."""
    texts: list[str] = []
    thoughts: list[str] = []
    calls: list[ToolCall] = []
    for part in body["content"]:
        kind = part["type"]
        if kind == "text":
            texts.append(part["text"])
        elif kind == "thinking" and part["thinking"]:
            thoughts.append(part["thinking"])
        elif kind == "tool_use":
            calls.append(ToolCall(part["name"], _json_text(part["input"]), text_or_none(part.get("id"))))
    raw_stop = text_or_none(body.get("stop_reason"))
    return Response(
        text="".join(texts),
        stop_reason=None if raw_stop is None else STOP_REASONS.get(raw_stop, "other"),
        raw_stop_reason=raw_stop,
        reasoning="\n\n".join(thoughts) or None,
        tool_calls=tuple(calls),
        served_model=text_or_none(body.get("model")),
        usage=usage_of(body.get("usage")),
    )


def _json_text(value: Any) -> str:
    """Give a tool's input as JSON; one that a stream left unfinished is text already."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def usage_of(usage: Any) -> Usage:
    """Read token counts; input_tokens leaves cached ones out already."""
    if not isinstance(usage, Mapping):
        return Usage()
    return Usage(
        input_tokens=count(usage.get("input_tokens")),
        cache_read_tokens=count(usage.get("cache_read_input_tokens")),
        cache_write_tokens=count(usage.get("cache_creation_input_tokens")),
        output_tokens=count(usage.get("output_tokens")),
        reasoning_tokens=count(block(usage.get("output_tokens_details")).get("thinking_tokens")),
    )


def beta_headers(shape: CallShape) -> dict[str, str]:
    """Give the header that switches betas on."""
    names = [name for name in shape.betas if ": " not in name]
    return {"anthropic-beta": ",".join(names)} if names else {}


MESSAGES = Api("/v1/messages", parse, is_answer, AnthropicStream)


class Anthropic:
    """Calls Anthropic."""

    def __init__(self, shape: CallShape, endpoint: Endpoint, limits: Limits) -> None:
        import anthropic

        is_streamed = needs_stream(shape) if endpoint.stream is None else endpoint.stream
        client = make_client(
            anthropic,
            anthropic.AsyncAnthropic,
            endpoint,
            beta_headers(shape),
            limits,
            is_streamed=is_streamed,
        )
        self._line = Line(anthropic, client, endpoint, MESSAGES, is_streamed)

    async def complete(self, request: Request, timeout_s: float) -> Response:
        """Ask once."""
        return await self._line.ask(payload(request), timeout_s)

    async def close(self) -> None:
        """Close the connections."""
        await self._line.client.close()
