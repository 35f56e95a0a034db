"""Chat completions as `openai` and `openai_compatible` speak them: pure functions on dicts.

Invariant: only what the spec states is sent; token counts come out disjoint and None where unstated.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from gradetrail.errors import ProviderError
from gradetrail.providers.failures import classify, error_body
from gradetrail.providers.forms import chat_response_format, chat_tool_choice, chat_tools, merged, plain_text
from gradetrail.providers.reply import block, count, dollars, text_or_none
from gradetrail.providers.response import Response, ToolCall, Usage, repaired
from gradetrail.request import CallShape, Request, params_at

STOP_REASONS = {
    "stop": "stop", "stop_sequence": "stop", "end_turn": "stop", "eos": "stop", "length": "length",
    "max_tokens": "length", "tool_calls": "tool", "function_call": "tool", "content_filter": "filter",
    "refusal": "refusal",
}  # fmt: skip
_RENAMED = {"reasoning": "reasoning_effort"}


def fixed_part(shape: CallShape, epoch: int, max_tokens_name: str) -> dict[str, Any]:
    """Give the body but for its messages: equal for all samples of an entrant and epoch."""
    params = params_at(shape.params, epoch)
    extra = params.pop("extra", None) or {}
    body: dict[str, Any] = {"model": shape.model}
    for name, value in params.items():
        body[max_tokens_name if name == "max_tokens" else _RENAMED.get(name, name)] = value
    if shape.tools is not None:
        body["tools"] = chat_tools(shape.tools)
    if shape.tool_choice is not None:
        body["tool_choice"] = chat_tool_choice(shape.tool_choice)
    if shape.response_format is not None:
        body["response_format"] = chat_response_format(shape.response_format)
    return merged(body, extra)


def payload(request: Request, max_tokens_name: str = "max_completion_tokens") -> dict[str, Any]:
    """Give the body of one call."""
    return {**fixed_part(request.shape, request.epoch, max_tokens_name), "messages": list(request.messages)}


def is_answer(body: Any) -> bool:
    """Tell whether a body is a completion."""
    choices = block(body).get("choices")
    return isinstance(choices, list) and len(choices) > 0


def parse(body: Mapping[str, Any]) -> Response:
    """Turn a completion into a Response; ProviderError where its one choice is an error."""
    choice = body["choices"][0]
    message = choice.get("message")
    failed = error_body(choice)
    if failed is not None or not isinstance(message, dict):
        if failed is None:
            raise TypeError("a choice without a message")
        raise ProviderError(
            classify(200, failed), f"an error inside an answer: {failed.message}", http_status=200
        )
    raw_stop = choice.get("finish_reason")
    stop = None if raw_stop is None else STOP_REASONS.get(str(raw_stop), "other")
    text, reasoning = _text_and_reasoning(message)
    refusal = text_or_none(message.get("refusal"))
    if refusal is not None:
        text, stop = text or refusal, "refusal"
    response = Response(
        text=text,
        stop_reason=stop,
        raw_stop_reason=None if raw_stop is None else str(raw_stop),
        reasoning=reasoning,
        tool_calls=tuple(_tool_calls(message)),
        served_model=text_or_none(body.get("model")),
        usage=usage_of(body.get("usage")),
    )
    return with_logprobs(response, block(choice.get("logprobs")).get("content"))


def _text_and_reasoning(message: Mapping[str, Any]) -> tuple[str, str | None]:
    content = message.get("content")
    reasoning = text_or_none(message.get("reasoning_content")) or text_or_none(message.get("reasoning"))
    if reasoning is None and isinstance(message.get("reasoning_details"), list):
        details = [block(detail) for detail in message["reasoning_details"]]
        shown = [
            text_or_none(detail.get("text")) or text_or_none(detail.get("summary")) for detail in details
        ]
        reasoning = "\n".join(text for text in shown if text) or None
    if content is None or isinstance(content, str):
        return content or "", reasoning
    if not isinstance(content, list):
        raise TypeError(f"content is {type(content).__name__}")
    thinking = [plain_text(part.get("thinking")) for part in content if block(part).get("type") == "thinking"]
    said = [part for part in content if block(part).get("type") in ("text", "output_text", None)]
    return plain_text(said), reasoning or "\n".join(thinking) or None


def _tool_calls(message: Mapping[str, Any]) -> Sequence[ToolCall]:
    calls: list[ToolCall] = []
    for call in message.get("tool_calls") or ():
        asked = call.get("function") or call.get("custom")
        arguments = asked.get("arguments", asked.get("input"))
        calls.append(ToolCall(str(asked["name"]), _json_text(arguments), text_or_none(call.get("id"))))
    old = message.get("function_call")
    if not calls and isinstance(old, Mapping):
        calls.append(ToolCall(str(old["name"]), _json_text(old.get("arguments"))))
    return calls


def _json_text(arguments: Any) -> str:
    """Give arguments as JSON text; some servers send them parsed."""
    if isinstance(arguments, str):
        return arguments
    import orjson

    return "" if arguments is None else orjson.dumps(arguments).decode()


def usage_of(usage: Any) -> Usage:
    """Read token counts of chat completions and of the Responses API; cached input is taken out."""
    if not isinstance(usage, dict):
        return Usage()
    given = block(usage.get("prompt_tokens_details") or usage.get("input_tokens_details"))
    made = block(usage.get("completion_tokens_details") or usage.get("output_tokens_details"))
    total = _first_count(usage, "prompt_tokens", "input_tokens")
    read = count(given.get("cached_tokens"))
    if read is None:
        read = count(usage.get("prompt_cache_hit_tokens"))
    written = count(given.get("cache_write_tokens"))
    cached = (read or 0) + (written or 0)
    return Usage(
        # a server that counts cached tokens apart gives fewer in total than cached
        input_tokens=total if total is None or total < cached else total - cached,
        cache_read_tokens=read,
        cache_write_tokens=written,
        output_tokens=_first_count(usage, "completion_tokens", "output_tokens"),
        reasoning_tokens=count(made.get("reasoning_tokens")),
        billed_usd=dollars(usage.get("cost")),
    )


def _first_count(usage: Mapping[str, Any], *names: str) -> int | None:
    for name in names:
        number = count(usage.get(name))
        if number is not None:
            return number
    return None


def with_logprobs(response: Response, tokens: Any) -> Response:
    """Add log-probabilities, their negated sum and their number, where the reply has them."""
    if not isinstance(tokens, list) or not tokens:
        return response
    kept = []
    for token in tokens:
        item = _token(token)
        if token.get("top_logprobs"):
            item["top_logprobs"] = [_token(other) for other in token["top_logprobs"]]
        kept.append(item)
    values = [item["logprob"] for item in kept if item["logprob"] is not None]
    is_whole = len(values) == len(kept)
    return replace(
        response,
        logprobs=kept,
        token_nll=max(0.0, -math.fsum(values)) if is_whole else None,
        token_count=len(kept) if is_whole else None,
    )


def _token(token: Mapping[str, Any]) -> dict[str, Any]:
    """Give text and log-probability of a token; None for minus infinity, which no JSON holds."""
    value = float(token["logprob"])
    return {"token": repaired(token["token"])[0], "logprob": value if math.isfinite(value) else None}
