"""Servers that speak OpenAI's API, over a lean client: the way for thousands of requests a second.

Invariant: one call is one POST on a pooled connection; it is never repeated or redirected.
`max_tokens` is sent under that name. An API key is sent where `api_key_env` names one.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gradetrail.providers import chat, responses
from gradetrail.providers.connection import Connection
from gradetrail.providers.endpoint import Endpoint, Limits
from gradetrail.providers.forms import merged
from gradetrail.providers.openai import api_of
from gradetrail.providers.reply import read_answer
from gradetrail.providers.response import Response
from gradetrail.providers.streaming import streamed_answer
from gradetrail.request import CallShape, Request

if TYPE_CHECKING:
    import aiohttp

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

        from gradetrail.providers.lines import Lines

        self._endpoint, self._shape, self._api = endpoint, shape, api_of(shape)
        self._dumps = orjson.dumps
        self._fixed: dict[int, dict[str, Any]] = {}
        self._url = endpoint.url + self._api.path
        # what the lean way lacks takes the general one
        is_plain = endpoint.proxy is None and not endpoint.stream
        self._lines = Lines(endpoint, limits, self._api.path) if is_plain else None
        self._connection = None if is_plain else Connection(endpoint, limits)

    async def complete(self, request: Request, timeout_s: float) -> Response:
        """Ask once."""
        api, endpoint = self._api, self._endpoint
        if endpoint.stream:
            return await self._streamed(request, timeout_s)
        body = self._body(request)
        if self._lines is not None:
            reply = await self._lines.post(body, timeout_s)
        else:
            assert self._connection is not None
            reply = await self._connection.send("POST", self._url, timeout_s, data=body)
        return read_answer(*reply, api.parse, api.is_answer, endpoint)

    async def _streamed(self, request: Request, timeout_s: float) -> Response:
        api, started = self._api, time.monotonic()

        async def read(reply: aiohttp.ClientResponse) -> Response:
            chunks = reply.content.iter_any()
            return await streamed_answer(reply.status, reply.headers, chunks, api, self._endpoint, started)

        assert self._connection is not None
        body = self._encoded(merged(api.stream_fields, payload(request)))
        accept = {"accept": "text/event-stream"}
        return await self._connection.exchange("POST", self._url, timeout_s, read, data=body, headers=accept)

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
        for connections in (self._lines, self._connection):
            if connections is not None:
                await connections.close()
