"""The rows that calls and answers become; columns of the stored tables `calls` and `responses`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import orjson

from gradetrail.errors import ProviderError
from gradetrail.generation.work import Turn, Work
from gradetrail.providers.response import Response
from gradetrail.request import strings_id

MEASURED = (
    "response_id", "served_model", "latency_ms", "ttft_ms", "input_tokens", "cache_read_tokens",
    "cache_write_tokens", "output_tokens", "reasoning_tokens",
)  # fmt: skip
"""What a trial takes from the call that answered it."""
MESSAGE_LIMIT = 2000
"""Characters of an error message that are kept."""


def used_tokens(response: Response) -> int | None:
    """Sum the tokens of a call; None if the provider gave no number."""
    usage = response.usage
    counts = (usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens, usage.output_tokens)
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def call_row(
    run_id: str, turn: Turn, attempt: int, started_at: datetime, latency_ms: float
) -> dict[str, Any]:
    """Give what is the same in the row of every attempt, failed or not."""
    request = turn.request
    return {
        "call_id": strings_id(
            "gradetrail.call.v1", [run_id, request.key, turn.number, attempt, started_at.isoformat()]
        ),
        "run_id": run_id,
        "request_key": request.key,
        "provider": request.shape.provider,
        "model": request.shape.model,
        "role": turn.role,
        "purpose": turn.purpose or ("answer" if turn.is_last else "turn"),
        "turn": turn.number,
        "attempt": attempt,
        "started_at": started_at,
        "latency_ms": latency_ms,
    }


def of_answer(response: Response, call: Mapping[str, Any]) -> dict[str, Any]:
    """Give what an attempt that brought an answer adds to its row."""
    usage = response.usage
    # how long it took to look a recorded answer up says nothing of its model
    is_measured = response.latency_ms is None and response.origin != "replay"
    return {
        "status": "ok",
        "response_id": response.response_id(call["request_key"]),
        "billed_usd": usage.billed_usd,
        "served_model": response.served_model,
        "latency_ms": call["latency_ms"] if is_measured else response.latency_ms,
        "ttft_ms": response.ttft_ms,
        "input_tokens": usage.input_tokens,
        "cache_read_tokens": usage.cache_read_tokens,
        "cache_write_tokens": usage.cache_write_tokens,
        "output_tokens": usage.output_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
    }


def of_failure(error: ProviderError) -> dict[str, Any]:
    """Give what an attempt that failed adds to its row."""
    return {
        "status": "error",
        "error_type": error.error_type,
        "error_message": str(error)[:MESSAGE_LIMIT],
        "http_status": error.http_status,
    }


def answered_trials(
    run_id: str, work: Work, response: Response, call: Mapping[str, Any], now: datetime
) -> list[dict[str, Any]]:
    """Give the rows of the trials that an answer serves; `call` is the row of the call that brought it."""
    state = {name: call[name] for name in MEASURED}
    state.update(
        run_id=run_id,
        status="answered",
        is_hit=False,
        request_key=call["request_key"],
        response_run_id=run_id,
        stop_reason=response.stop_reason,
        token_nll=response.token_nll,
        token_count=response.token_count,
        confidence=response.confidence,
        ended_at=now,
    )
    return [{**trial, **state} for trial in work.trials]


def failed_trials(run_id: str, work: Work, error: ProviderError, now: datetime) -> list[dict[str, Any]]:
    """Give the rows of the trials whose request, or an earlier turn of it, is given up."""
    state = {
        "run_id": run_id,
        "status": "error",
        "error_type": error.error_type,
        "error_message": str(error)[:MESSAGE_LIMIT],
        "is_hit": False,
        "ended_at": now,
    }
    return [{**trial, **state} for trial in work.trials]


def response_row(
    run_id: str, work: Work, turn: Turn, response: Response, response_id: str, now: datetime
) -> dict[str, Any]:
    """Give the row of an answer."""
    request = turn.request
    calls = [{"id": c.id, "name": c.name, "arguments": c.arguments} for c in response.tool_calls]
    return {
        "run_id": run_id,
        "response_id": response_id,
        "request_key": request.key,
        "provider": request.shape.provider,
        "model": request.shape.model,
        "served_model": response.served_model,
        "messages": turn.messages.decode(),
        "request": (turn.canonical or work.canonical).decode(),
        "text": response.text,
        "reasoning": response.reasoning,
        "tool_calls": orjson.dumps(calls).decode() if calls else None,
        "stop_reason": response.stop_reason,
        "raw_stop_reason": response.raw_stop_reason,
        "confidence": response.confidence,
        "logprobs": _json(response.logprobs) if work.keep_logprobs else None,
        "raw": _json(response.raw) if work.keep_raw else None,
        "is_text_repaired": response.is_text_repaired,
        "origin": response.origin,
        "created_at": now,
        "token_nll": response.token_nll,
        "token_count": response.token_count,
    }


def _json(value: Any) -> str | None:
    if value is None:
        return None
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        # integers beyond 64 bits, which a server may send
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
