"""Whole replies as the events of a stream, in the form of each API; the inverse of what a client does."""

from __future__ import annotations

import json
from typing import Any

DONE = b"data: [DONE]\n\n"


def event(data: Any, name: str | None = None) -> bytes:
    """Write one server-sent event."""
    lead = f"event: {name}\n" if name else ""
    return f"{lead}data: {json.dumps(data)}\n\n".encode()


def pieces(text: str | None, size: int = 7) -> list[str]:
    """Cut a text into the pieces that tokens are."""
    return [text[n : n + size] for n in range(0, len(text), size)] if text else []


def chat_stream(body: dict[str, Any]) -> list[bytes]:
    """Stream a completion, with usage in the last chunk as `include_usage` has it."""
    choice, lead = body["choices"][0], {k: v for k, v in body.items() if k not in ("choices", "usage")}
    lead["object"] = "chat.completion.chunk"
    message = choice["message"]

    def chunk(delta: dict[str, Any], **rest: Any) -> bytes:
        fields = {"index": 0, "delta": delta, "finish_reason": None, **rest}
        return event({**lead, "choices": [fields], "usage": None})

    made = [chunk({"role": "assistant", "content": ""})]
    for name in ("reasoning_content", "reasoning", "content", "refusal"):
        tokens = (choice.get("logprobs") or {}).get("content") if name == "content" else None
        said = [token["token"] for token in tokens] if tokens else pieces(message.get(name))
        for n, piece in enumerate(said):
            more = {"logprobs": {"content": [tokens[n]]}} if tokens else {}
            made.append(chunk({name: piece}, **more))
    for n, call in enumerate(message.get("tool_calls") or ()):
        function = call["function"]
        first = {"index": n, "id": call["id"], "type": "function"}
        made.append(
            chunk({"tool_calls": [{**first, "function": {"name": function["name"], "arguments": ""}}]})
        )
        made += [
            chunk({"tool_calls": [{"index": n, "function": {"arguments": piece}}]})
            for piece in pieces(function["arguments"])
        ]
    made.append(chunk({}, finish_reason=choice["finish_reason"]))
    if body.get("usage") is not None:
        made.append(event({**lead, "choices": [], "usage": body["usage"]}))
    return [*made, DONE]


def message_stream(body: dict[str, Any]) -> list[bytes]:
    """Stream an Anthropic message; output tokens are counted at the end."""
    usage = body.get("usage")
    start = {**body, "content": [], "stop_reason": None}
    if usage is not None:
        start["usage"] = {**usage, "output_tokens": 1}
    made = [
        event({"type": "message_start", "message": start}, "message_start"),
        event({"type": "ping"}, "ping"),
    ]
    for n, part in enumerate(body["content"]):
        kind, empty = part["type"], dict(part)
        deltas: list[dict[str, Any]] = []
        if kind == "text":
            empty["text"] = ""
            deltas = [{"type": "text_delta", "text": piece} for piece in pieces(part["text"])]
        elif kind == "thinking":
            empty |= {"thinking": "", "signature": ""}
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(part["thinking"])]
            deltas.append({"type": "signature_delta", "signature": part["signature"]})
        elif kind == "tool_use":
            empty["input"] = {}
            said = json.dumps(part["input"])
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ("", *pieces(said))]
        made.append(event({"type": "content_block_start", "index": n, "content_block": empty}))
        made += [event({"type": "content_block_delta", "index": n, "delta": delta}) for delta in deltas]
        made.append(event({"type": "content_block_stop", "index": n}))
    end: dict[str, Any] = {"type": "message_delta", "delta": {"stop_reason": body.get("stop_reason")}}
    if usage is not None:
        counted = ("output_tokens", "output_tokens_details")
        end["usage"] = {name: usage[name] for name in counted if name in usage}
    return [*made, event(end, "message_delta"), event({"type": "message_stop"}, "message_stop")]


def response_stream(body: dict[str, Any]) -> list[bytes]:
    """Stream a response of the Responses API."""
    started = {**body, "status": "in_progress", "output": [], "usage": None}
    made = [event({"type": "response.created", "response": started}, "response.created")]
    for n, item in enumerate(body["output"]):
        for part in item.get("content") or ():
            made += [
                event({"type": "response.output_text.delta", "output_index": n, "delta": piece})
                for piece in pieces(part.get("text"))
            ]
        made.append(event({"type": "response.output_item.done", "output_index": n, "item": item}))
    kind = {"incomplete": "response.incomplete", "failed": "response.failed"}
    last = kind.get(body["status"], "response.completed")
    return [*made, event({"type": last, "response": body}, last)]


def stream_of(path: str, body: dict[str, Any]) -> list[bytes]:
    """Stream the whole body of an answer in the form of the API that the path belongs to."""
    if path.endswith("/messages"):
        return message_stream(body)
    return response_stream(body) if path.endswith("/responses") else chat_stream(body)
