"""Recorded answers, from a file or from a field of the sample itself: no call is made.

Invariant: a sample without a recorded answer is an error (`no_answer`), never an empty answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from gradetrail.errors import Fault, GradetrailError, ProviderError
from gradetrail.providers.answers import Answers, as_text, load_answers
from gradetrail.providers.response import Response, ToolCall, Usage, with_repaired_text
from gradetrail.providers.shape import file_digest
from gradetrail.request import Request
from gradetrail.spec import Model, Spec

USAGE = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens")


def parse(fields: Mapping[str, Any]) -> Response:
    """Turn the fields of a recorded answer into a Response."""
    own = {name: value for name, value in fields.items() if name not in USAGE and name != "tool_calls"}
    calls = json.loads(fields.get("tool_calls") or "[]")
    return Response(
        **own,
        usage=Usage(**{name: fields[name] for name in USAGE if name in fields}),
        tool_calls=tuple(ToolCall(c["name"], as_text(c.get("arguments", "")), c.get("id")) for c in calls),
        origin="replay",
    )


def field_of(sample: Mapping[str, Any], path: str) -> Any:
    """Follow a dotted path into a sample; a field whose own name has the dots comes first.

    Raises LookupError where the path leads nowhere or to null.
    """
    if sample.get(path) is not None:
        return sample[path]
    value: Any = sample
    for step in path.split("."):
        if isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        elif isinstance(value, Mapping) and value.get(step) is not None:
            value = value[step]
        else:
            raise LookupError(f"the sample has no `{path}`")
    return value


def open_answers(spec: Spec, model: Model, place: str) -> Answers | None:
    """Load the file of a replay model; None for one that reads a field. SpecError says what is wrong."""
    if model.answers is None:
        return None
    digest = file_digest(spec, model.answers, place, "answers")
    return load_answers(spec.path(model.answers).resolve(), digest, model.answers)


def faults(spec: Spec, model: Model, where: str, place: str) -> Iterator[Fault]:
    """Load the answers, or check that the field's path is one."""
    if model.field is not None and not all(model.field.split(".")):
        yield Fault(f"`{model.field}` is not a path", where, f"{place}.field", "such as `output.text`")
    try:
        open_answers(spec, model, place)
    except GradetrailError as error:
        yield from (Fault(f.message, f.where, f.field or f"{place}.answers", f.fix) for f in error.faults)


class Replay:
    """Gives recorded answers."""

    def __init__(self, spec: Spec, model: Model) -> None:
        self._answers = open_answers(spec, model, model.display)
        self._name = model.name
        self._field = model.field or ""

    async def complete(self, request: Request, timeout_s: float) -> Response:  # noqa: ARG002
        """Look the answer up."""
        if self._answers is None:
            return self._from_sample(request)
        fields = self._answers.find(request.sample_id, self._name, request.prompt, request.epoch)
        if fields is None:
            raise ProviderError("no_answer", f"no recorded answer for sample `{request.sample_id}`")
        return self._parsed(fields, request)

    def _from_sample(self, request: Request) -> Response:
        try:
            value = field_of(request.sample or {}, self._field)
        except LookupError as error:
            raise ProviderError("no_answer", str(error)) from None
        return with_repaired_text(Response(text=as_text(value), origin="replay"))

    @staticmethod
    def _parsed(fields: Mapping[str, Any], request: Request) -> Response:
        try:
            return parse(fields)
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            text = f"recorded answer for sample `{request.sample_id}`: {type(error).__name__}: {error}"
            raise ProviderError("bad_reply", text) from None

    async def close(self) -> None:
        """Do nothing: the answers are shared."""
