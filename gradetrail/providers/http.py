"""Any HTTP API that takes JSON: a body template and the path of the answer in the reply.

Invariant: values enter the body as JSON, never as text that could change its structure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gradetrail.errors import Fault, ProviderError
from gradetrail.providers.connection import Connection
from gradetrail.providers.endpoint import Endpoint, Limits
from gradetrail.providers.failures import error_body
from gradetrail.providers.forms import plain_text, split_system
from gradetrail.providers.reply import is_success, read_answer
from gradetrail.providers.response import Response
from gradetrail.request import CallShape, Request
from gradetrail.spec import Model, Spec

_TO_JSON = re.compile(r"\s*\|\s*tojson\s*(?=\}\})")
"""Every value is inserted as JSON already."""


def values_of(request: Request) -> dict[str, Any]:
    """Give what a template can name: prompt, system, messages, model and the parameters."""
    system, rest = split_system(request.messages)
    return {
        **request.params,
        "messages": [dict(message) for message in request.messages],
        "model": request.shape.model,
        "prompt": "\n\n".join(plain_text(message.get("content")) for message in rest),
        "system": system or "",
    }


def payload(template: Any, values: Mapping[str, Any]) -> Any:
    """Fill a body template. Raises ValueError (RenderError) for what cannot be filled.

    In a mapping, or JSON text that is one, the string leaves are templates, and a leaf that is one
    `{{ field }}` keeps the field's type. In other text each `{{ field }}` stands for its JSON.
    """
    if not isinstance(template, str):
        return _filled(template, values)
    try:
        parsed = json.loads(template)
    except ValueError:
        return _filled_text(template, values)
    return _filled(parsed, values)


def _filled(template: Any, values: Mapping[str, Any]) -> Any:
    from gradetrail.prompt import value_of

    if isinstance(template, str):
        return value_of(template, values)
    if isinstance(template, Mapping):
        return {str(key): _filled(item, values) for key, item in template.items()}
    if isinstance(template, list | tuple):
        return [_filled(item, values) for item in template]
    return template


def _filled_text(template: str, values: Mapping[str, Any]) -> Any:
    from gradetrail.prompt import render

    inserted = {name: json.dumps(value) for name, value in values.items()}
    return json.loads(render(_TO_JSON.sub("", template), inserted))


def answer_at(body: Any, path: str) -> str:
    """Follow a dotted path; numbers index lists. A value that is no text comes as JSON.

    Raises LookupError that says how far the path went.
    """
    value, done = body, "the reply"
    for step in path.split("."):
        if isinstance(value, Mapping) and step in value:
            value = value[step]
        elif isinstance(value, Sequence) and not isinstance(value, str) and step.lstrip("-").isdigit():
            if not -len(value) <= int(step) < len(value):
                raise LookupError(f"{done} has {len(value)} items, none at `{step}`")
            value = value[int(step)]
        else:
            known = f"; it has {', '.join(map(str, value))[:100]}" if isinstance(value, Mapping) else ""
            raise LookupError(f"{done} has no `{step}`{known}")
        done = f"`{step}`"
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def parse(body: Any, path: str) -> Response:
    """Turn a reply into a Response; LookupError where the path leads nowhere."""
    return Response(text=answer_at(body, path))


def faults(spec: Spec, model: Model, where: str, place: str) -> Iterator[Fault]:
    """Fill the template once with a stand-in prompt: syntax, unknown names, JSON that does not parse."""
    if model.body is None:
        if model.method != "GET":
            example = 'such as `body: {prompt: "{{ prompt }}"}`'
            yield Fault("an http model needs `body`", where, f"{place}.body", example)
        return
    shape = CallShape("http", model.name, spec.params(model))
    request = Request(shape, [{"role": "user", "content": "a prompt"}], 1, "", "")
    try:
        payload(model.body, values_of(request))
    except ValueError as error:
        known = ", ".join(sorted(values_of(request)))
        yield Fault(f"body template: {error}", where, f"{place}.body", f"it can name: {known}")


class Http:
    """Calls an API of the user's own."""

    def __init__(self, model: Model, endpoint: Endpoint, limits: Limits) -> None:
        self._connection = Connection(endpoint, limits)
        self._model = model
        self._path = model.reply or ""

    async def complete(self, request: Request, timeout_s: float) -> Response:
        """Ask once."""
        model, endpoint = self._model, self._connection.endpoint
        try:
            filled = None if model.body is None else payload(model.body, values_of(request))
        except ValueError as error:
            raise ProviderError("bad_request", f"body template: {error}") from None
        options: dict[str, Any] = {}
        if model.method == "GET" and isinstance(filled, Mapping):
            options["params"] = {name: _query(value) for name, value in filled.items()}
        elif filled is not None:
            options["data"] = json.dumps(filled, ensure_ascii=False).encode()
        status, headers, raw = await self._connection.send(model.method, endpoint.url, timeout_s, **options)

        def is_answer(body: Any) -> bool:
            return is_success(status) and error_body(body) is None

        return read_answer(status, headers, raw, self._parse, is_answer, endpoint)

    def _parse(self, body: Any) -> Response:
        return parse(body, self._path)

    async def close(self) -> None:
        """Close the connections."""
        await self._connection.close()


def _query(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
