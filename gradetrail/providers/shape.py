"""From a spec's model to the identity of its calls.

Invariant: two calls that can be answered differently have different shapes; credentials, paths and
run knobs are in none.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from gradetrail.errors import Fault, SpecError
from gradetrail.providers.endpoint import base_url_of, header_betas
from gradetrail.request import CallShape, Json, content_id
from gradetrail.spec import Model, Spec


def place_of(spec: Spec, place: str) -> str:
    """Give `file:line` of a dotted place such as `models.0` or `scorers.judge.model`."""
    return spec.where(*(int(part) if part.isdigit() else part for part in place.split(".") if part))


def model_place(spec: Spec, model: Model) -> str:
    """Give the dotted place of a model of the spec, or of a judge's; its name where it stands elsewhere."""
    places: dict[str, object] = {f"models.{n}": own for n, own in enumerate(spec.models)}
    places |= {f"scorers.{name}.model": getattr(own, "model", None) for name, own in spec.scorers.items()}
    return next((place for place, own in places.items() if own is model), model.display)


def load_json(spec: Spec, model: Model, name: str, place: str) -> Json:
    """Give a JSON option; a string names a file. SpecError says what is wrong with the file."""
    value = spec.option(model, name)
    if not isinstance(value, str):
        return list(value) if isinstance(value, tuple) else value
    path = spec.path(value)
    where, field = place_of(spec, place), f"{place}.{name}"
    try:
        return json.loads(path.read_bytes())
    except OSError as error:
        raise SpecError(Fault(f"cannot read `{value}`: {error.strerror or error}", where, field)) from None
    except UnicodeDecodeError:
        raise SpecError(Fault(f"`{value}` is not UTF-8", where, field)) from None
    except json.JSONDecodeError as error:
        raise SpecError(Fault(f"not JSON: {error.msg}", f"{value}:{error.lineno}", field)) from None


def file_digest(spec: Spec, name: str, place: str, field: str) -> str:
    """Hash a file's content; SpecError where it cannot be read."""
    path: Path = spec.path(name)
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        fault = Fault(
            f"cannot read `{name}`: {error.strerror or error}", place_of(spec, place), f"{place}.{field}"
        )
        raise SpecError(fault) from None


def source_digest(spec: Spec, model: Model, place: str) -> str | None:
    """Hash what answers: the python source, the recorded answers, the http template."""
    if model.provider == "python" and model.path is not None:
        source = file_digest(spec, model.path, place, "path")
        return content_id("gradetrail.python_source.v1", {"class": model.class_, "source": source})
    if model.provider == "replay" and model.answers is not None:
        return file_digest(spec, model.answers, place, "answers")
    if model.provider == "replay":
        return content_id("gradetrail.replay_field.v1", model.field)
    if model.provider == "http":
        template = {"body": model.body, "method": model.method, "reply": model.reply}
        return content_id("gradetrail.http_template.v1", template)
    return None


def call_shape(spec: Spec, model: Model) -> CallShape:
    """Give everything of a request's identity but its messages and epoch.

    Reads the files that tools, response format, source and answers come from; SpecError where one
    cannot be read, or where base_url is no URL or holds credentials.
    """
    place = model_place(spec, model)
    try:
        base_url = base_url_of(model)
    except ValueError as error:
        raise SpecError(Fault(f"base_url {error}", place_of(spec, place), f"{place}.base_url")) from None
    betas = {*(spec.option(model, "betas") or ()), *header_betas(model)}
    return CallShape(
        provider=model.provider,
        model=model.name,
        params=spec.params(model),
        revision=model.revision,
        endpoint=model.endpoint,
        base_url=base_url,
        api="responses" if model.api == "responses" else None,
        tools=load_json(spec, model, "tools", place),
        tool_choice=spec.option(model, "tool_choice"),
        response_format=load_json(spec, model, "response_format", place),
        betas=tuple(sorted(betas)),
        source_digest=source_digest(spec, model, place),
        sees_sample=model.provider in ("python", "replay"),
        sees_prompt=model.provider == "replay" and model.answers is not None,
    )
