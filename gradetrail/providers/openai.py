"""OpenAI through its SDK: chat completions, and the Responses API with `api: responses`.

Invariant: `max_tokens` is sent as max_completion_tokens (max_output_tokens for Responses), and only
what the spec states is sent. `reasoning` is an effort.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gradetrail.providers import chat, responses
from gradetrail.providers.endpoint import Endpoint, Limits
from gradetrail.providers.reply import read_answer
from gradetrail.providers.response import Response
from gradetrail.providers.sdk import ask, make_client
from gradetrail.request import CallShape, Request

SENDS = frozenset(
    {
        "max_tokens", "temperature", "top_p", "seed", "stop", "presence_penalty", "frequency_penalty",
        "logprobs", "top_logprobs", "reasoning", "extra",
    }
)  # fmt: skip
"""Parameters of chat completions."""
RESPONSES_SENDS = frozenset(
    {"max_tokens", "temperature", "top_p", "logprobs", "top_logprobs", "reasoning", "extra"}
)
"""Parameters of the Responses API."""


def payload(request: Request) -> dict[str, Any]:
    """Give the body of one call."""
    return responses.payload(request) if request.shape.api == "responses" else chat.payload(request)


def parse(body: Mapping[str, Any], api: str | None = None) -> Response:
    """Turn the body of an answer into a Response."""
    return responses.parse(body) if api == "responses" else chat.parse(body)


class OpenAI:
    """Calls OpenAI."""

    def __init__(self, shape: CallShape, endpoint: Endpoint, limits: Limits) -> None:
        import openai

        self._sdk, self._endpoint = openai, endpoint
        self._client = make_client(openai, openai.AsyncOpenAI, endpoint, {}, limits)
        is_responses = shape.api == "responses"
        self._path = "/responses" if is_responses else "/chat/completions"
        self._parse = responses.parse if is_responses else chat.parse
        self._is_answer = responses.is_answer if is_responses else chat.is_answer

    async def complete(self, request: Request, timeout_s: float) -> Response:
        """Ask once."""
        reply = await ask(self._sdk, self._client, self._path, payload(request), timeout_s, self._endpoint)
        return read_answer(*reply, self._parse, self._is_answer, self._endpoint)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()
