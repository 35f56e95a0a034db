"""Servers that speak OpenAI's API, over a lean client: the way for thousands of requests a second.

Invariant: one call is one POST on a pooled connection; it is never repeated, redirected or streamed.
`max_tokens` is sent under that name. An API key is sent where `api_key_env` names one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gradetrail.providers import chat, responses
from gradetrail.providers.connection import Connection
from gradetrail.providers.endpoint import Endpoint, Limits
from gradetrail.providers.reply import read_answer
from gradetrail.providers.response import Response
from gradetrail.request import CallShape, Request

SENDS = frozenset(
    {
        "max_tokens", "temperature", "top_p", "top_k", "seed", "stop", "presence_penalty",
        "frequency_penalty", "logprobs", "top_logprobs", "reasoning", "extra",
    }
)  # fmt: skip
"""Parameters of chat completions, with top_k, which most servers know."""
RESPONSES_SENDS = SENDS - {"seed", "stop", "presence_penalty", "frequency_penalty"}
"""Parameters of the Responses API."""


def payload(request: Request) -> dict[str, Any]:
    """Give the body of one call."""
    return (
        responses.payload(request)
        if request.shape.api == "responses"
        else chat.payload(request, "max_tokens")
    )


def parse(body: Mapping[str, Any], api: str | None = None) -> Response:
    """Turn the body of an answer into a Response."""
    return responses.parse(body) if api == "responses" else chat.parse(body)


class OpenAICompatible:
    """Calls a server that speaks OpenAI's API."""

    def __init__(self, shape: CallShape, endpoint: Endpoint, limits: Limits) -> None:
        import orjson

        self._connection = Connection(endpoint, limits)
        self._dumps = orjson.dumps
        self._shape = shape
        self._fixed: dict[int, dict[str, Any]] = {}
        is_responses = shape.api == "responses"
        self._url = endpoint.url + ("/responses" if is_responses else "/chat/completions")
        self._parse = responses.parse if is_responses else chat.parse
        self._is_answer = responses.is_answer if is_responses else chat.is_answer

    async def complete(self, request: Request, timeout_s: float) -> Response:
        """Ask once."""
        reply = await self._connection.send("POST", self._url, timeout_s, data=self._body(request))
        return read_answer(*reply, self._parse, self._is_answer, self._connection.endpoint)

    def _body(self, request: Request) -> bytes:
        """Encode the payload; what all samples of an epoch share is built once."""
        if request.shape is not self._shape or request.shape.api == "responses":
            return self._encoded(payload(request))
        fixed = self._fixed.get(request.epoch)
        if fixed is None:
            fixed = self._fixed[request.epoch] = chat.fixed_part(self._shape, request.epoch, "max_tokens")
        return self._encoded({**fixed, "messages": list(request.messages)})

    def _encoded(self, body: dict[str, Any]) -> bytes:
        try:
            return self._dumps(body)
        except TypeError:
            # integers beyond 64 bits, mappings that are no dicts
            import json

            return json.dumps(body, ensure_ascii=False, default=dict).encode()

    async def close(self) -> None:
        """Close the connections."""
        await self._connection.close()
