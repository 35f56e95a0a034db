"""OpenAI's Responses API: pure functions on dicts.

Invariant: only what the spec states is sent. A leading system message is `instructions`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gradetrail.errors import ProviderError
from gradetrail.providers.chat import usage_of, with_logprobs
from gradetrail.providers.forms import (
    merged,
    responses_input,
    responses_text_format,
    responses_tool_choice,
    responses_tools,
    split_system,
)
from gradetrail.providers.reply import block, text_or_none
from gradetrail.providers.response import Response, ToolCall
from gradetrail.request import CallShape, Request, params_at

INCOMPLETE = {"max_output_tokens": "length", "content_filter": "filter"}


def fixed_part(shape: CallShape, epoch: int) -> dict[str, Any]:
    """Give the body but for its messages: equal for all samples of an entrant and epoch."""
    params = params_at(shape.params, epoch)
    extra = params.pop("extra", None) or {}
    body: dict[str, Any] = {"model": shape.model}
    for name, value in params.items():
        if name == "max_tokens":
            body["max_output_tokens"] = value
        elif name == "reasoning":
            body["reasoning"] = {"effort": value}
        elif name == "logprobs":
            if value:
                body["include"] = ["message.output_text.logprobs"]
        else:
            body[name] = value
    if shape.tools is not None:
        body["tools"] = responses_tools(shape.tools)
    if shape.tool_choice is not None:
        body["tool_choice"] = responses_tool_choice(shape.tool_choice)
    if shape.response_format is not None:
        body["text"] = {"format": responses_text_format(shape.response_format)}
    return merged(body, extra)


def payload(request: Request) -> dict[str, Any]:
    """Give the body of one call."""
    return {**fixed_part(request.shape, request.epoch), **messages_part(request)}


def messages_part(request: Request) -> dict[str, Any]:
    """Give `input` and, where there is a leading system message, `instructions`."""
    system, rest = split_system(request.messages)
    own: dict[str, Any] = {"input": responses_input(rest)}
    return own if system is None else {"instructions": system, **own}


def is_answer(body: Any) -> bool:
    """Tell whether a body is a response that did not fail."""
    fields = block(body)
    return isinstance(fields.get("output"), list) and fields.get("status") != "failed"


def parse(body: Mapping[str, Any]) -> Response:
    """Turn a response into a Response; ProviderError for one that is not finished."""
    status = body.get("status")
    if status in ("queued", "in_progress", "cancelled"):
        raise ProviderError(
            "bad_reply", f"the response is {status}: `background` is not supported", http_status=200
        )
    texts: list[str] = []
    refusals: list[str] = []
    thoughts: list[str] = []
    calls: list[ToolCall] = []
    logprobs: list[Any] = []
    for item in body["output"]:
        kind = item.get("type")
        if kind == "message":
            for part in item.get("content") or ():
                if part.get("type") == "refusal":
                    refusals.append(part["refusal"])
                elif part.get("type") == "output_text":
                    texts.append(part["text"])
                    logprobs.extend(part.get("logprobs") or ())
        elif kind == "reasoning":
            parts = [*(item.get("summary") or ()), *(item.get("content") or ())]
            thoughts.extend(part["text"] for part in parts if text_or_none(part.get("text")))
        elif kind in ("function_call", "custom_tool_call"):
            arguments = item.get("arguments", item.get("input"))
            calls.append(ToolCall(str(item["name"]), arguments or "", text_or_none(item.get("call_id"))))
    stop, raw_stop = _stop(body, bool(refusals), bool(calls))
    response = Response(
        text="".join(texts) or "".join(refusals),
        stop_reason=stop,
        raw_stop_reason=raw_stop,
        reasoning="\n\n".join(thoughts) or None,
        tool_calls=tuple(calls),
        served_model=text_or_none(body.get("model")),
        usage=usage_of(body.get("usage")),
    )
    return with_logprobs(response, logprobs)


def _stop(body: Mapping[str, Any], refused: bool, called: bool) -> tuple[str | None, str | None]:
    """Give the normalised and the raw stop reason."""
    status = body.get("status")
    if status == "incomplete":
        reason = text_or_none(block(body.get("incomplete_details")).get("reason"))
        return INCOMPLETE.get(reason or "", "other"), reason or "incomplete"
    raw = text_or_none(status)
    if refused:
        return "refusal", raw
    if called:
        return "tool", raw
    return ("stop" if raw in ("completed", None) else "other"), raw
