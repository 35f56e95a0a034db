"""What can be known to be wrong with a model before the first call.

Invariant: no call is made; every fault names place, parameter and fix, and all come together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gradetrail.errors import Fault, GradetrailError
from gradetrail.providers import anthropic, http, mock, openai, openai_compatible, python, replay
from gradetrail.providers.descriptors import make_room, most_allowed
from gradetrail.providers.endpoint import CALLED, endpoint_faults
from gradetrail.providers.forms import schema_of
from gradetrail.providers.shape import load_json, place_of
from gradetrail.spec import Model, Spec

_TABLES = {
    ("openai", "chat"): openai.SENDS,
    ("openai", "responses"): openai.RESPONSES_SENDS,
    ("openai_compatible", "chat"): openai_compatible.SENDS,
    ("openai_compatible", "responses"): openai_compatible.RESPONSES_SENDS,
    ("anthropic", "chat"): anthropic.SENDS,
}
"""Parameters that each API takes; the other providers leave parameters to the user's own code."""

STREAMED = ("anthropic", "openai", "openai_compatible")
"""Providers whose replies may be streamed."""


def check_model(spec: Spec, model: Model, place: str) -> list[Fault]:
    """List what is wrong with a model, without calling it.

    `place` is its dotted place in the spec, such as `models.0`: keys, variables, files, classes,
    and parameters that the provider cannot send.
    """
    where = place_of(spec, place)
    found = [
        *_parameter_faults(spec, model, where, place),
        *_option_faults(spec, model, where, place),
        *endpoint_faults(model, where, place),
        *_room_faults(spec, model),
    ]
    if model.provider == "mock":
        found += mock.faults(model, where, place)
    elif model.provider == "replay":
        found += replay.faults(spec, model, where, place)
    elif model.provider == "python":
        found += python.faults(spec, model, where, place)
    elif model.provider == "http":
        found += http.faults(spec, model, where, place)
    # the line of the parameter itself, where the spec states it
    return [
        replace(fault, where=place_of(spec, fault.field)) if fault.where == where else fault
        for fault in found
    ]


def _room_faults(spec: Spec, model: Model) -> Iterator[Fault]:
    wanted = spec.run.concurrency
    if model.provider in CALLED and spec.run.executor == "local" and not make_room(wanted):
        message = f"{wanted:,} calls in flight need more open files than the system allows (ulimit -Hn)"
        fix = f"at most {most_allowed():,}, or raise the hard limit"
        yield Fault(message, spec.where("run", "concurrency"), "run.concurrency", fix)


def _parameter_faults(spec: Spec, model: Model, where: str, place: str) -> Iterator[Fault]:
    takes = _TABLES.get((model.provider, model.api or "chat"))
    if takes is None:
        return
    params = spec.params(model)
    api = f"{model.provider} with `api: responses`" if model.api == "responses" else model.provider
    for name in params:
        if name not in takes:
            yield Fault(
                f"{api} cannot send `{name}`", where, f"{place}.{name}",
                f"leave `{name}` out, or state it at the models that take it; a field of the API's own goes "
                f"under `extra`; {api} takes: {', '.join(sorted(takes))}",
            )  # fmt: skip
    yield from _reasoning_faults(
        model.provider, params.get("reasoning"), params.get("max_tokens"), where, place
    )


def _reasoning_faults(
    provider: str, reasoning: object, limit: object, where: str, place: str
) -> Iterator[Fault]:
    if not isinstance(reasoning, int):
        return
    field = f"{place}.reasoning"
    if provider != "anthropic":
        yield Fault(
            f"{provider} takes an effort, not a budget of {reasoning} tokens",
            where,
            field,
            "such as `reasoning: high`",
        )
    elif reasoning < anthropic.LEAST_BUDGET:
        fix = f"give {anthropic.LEAST_BUDGET} or more, or an effort such as `high`"
        yield Fault(f"a thinking budget of {reasoning} tokens is too small", where, field, fix)
    elif isinstance(limit, int) and reasoning >= limit:
        yield Fault(
            f"the thinking budget of {reasoning} tokens leaves none of max_tokens {limit} for the answer",
            where, field, "raise `max_tokens`, which covers thinking and answer",
        )  # fmt: skip


def _option_faults(spec: Spec, model: Model, where: str, place: str) -> Iterator[Fault]:
    values = {}
    for name in ("tools", "response_format"):
        try:
            values[name] = load_json(spec, model, name, place)
        except GradetrailError as error:
            yield from error.faults
    if model.provider == "anthropic" and values.get("response_format") is not None:
        schema = schema_of(values["response_format"])
        if schema is None or "schema" not in schema:
            fix = "give a JSON schema, or ask for JSON in the prompt"
            yield Fault(
                "anthropic needs a schema in `response_format`", where, f"{place}.response_format", fix
            )
    if "stream" in (spec.params(model).get("extra") or {}):
        fix = "write `stream: true` beside `extra`, not in it"
        yield Fault("`stream` changes how a reply is read", where, f"{place}.extra", fix)
    if model.stream and model.provider not in STREAMED:
        fix = "leave `stream` out here"
        yield Fault(f"{model.provider} cannot stream", where, f"{place}.stream", fix)
    if model.api == "responses" and model.provider not in ("openai", "openai_compatible"):
        yield Fault(f"{model.provider} has no Responses API", where, f"{place}.api", "leave `api` out")
    if spec.option(model, "betas") and model.provider != "anthropic":
        fix = "state `betas` at the Anthropic models"
        yield Fault(f"{model.provider} has no beta headers", where, f"{place}.betas", fix)
