"""OpenAI through its SDK: chat completions, and the Responses API with `api: responses`.

Invariant: `max_tokens` is sent as max_completion_tokens (max_output_tokens for Responses), and only
what the spec states is sent. `reasoning` is an effort.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gradetrail.providers import chat, responses
from gradetrail.providers.chat_stream import STREAM_FIELDS, ChatStream
from gradetrail.providers.endpoint import Endpoint, Limits
from gradetrail.providers.response import Response
from gradetrail.providers.responses_stream import ResponsesStream
from gradetrail.providers.sdk import Line, make_client
from gradetrail.providers.streaming import Api
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


CHAT = Api("/chat/completions", chat.parse, chat.is_answer, ChatStream, STREAM_FIELDS)
RESPONSES = Api("/responses", responses.parse, responses.is_answer, ResponsesStream)


def api_of(shape: CallShape) -> Api:
    """Give the API that calls of a shape go to."""
    return RESPONSES if shape.api == "responses" else CHAT


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

        is_streamed = bool(endpoint.stream)
        client = make_client(openai, openai.AsyncOpenAI, endpoint, {}, limits, is_streamed=is_streamed)
        self._line = Line(openai, client, endpoint, api_of(shape), is_streamed)

    async def complete(self, request: Request, timeout_s: float) -> Response:
        """Ask once."""
        return await self._line.ask(payload(request), timeout_s)

    async def close(self) -> None:
        """Close the connections."""
        await self._line.client.close()
