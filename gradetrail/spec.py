"""A spec: one YAML file that says dataset, prompt, model(s), scorer(s) and how to run them.

Invariant: a loaded spec is complete and frozen. Short and older forms are expanded before
validation, unknown keys are refused at every depth, and every fault names file, line, field, fix.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    ValidationError,
    ValidationInfo,
    model_validator,
)

from gradetrail.errors import Fault, SpecError
from gradetrail.model_spec import NAME, PARAMETERS, Model, Name, RequestParams, expand_model
from gradetrail.scorer_spec import Block, Extract, Scorer, judges_in, part_faults
from gradetrail.spec_draft import Draft, place_of
from gradetrail.spec_faults import SHORT_FORMS, faults_of, in_order
from gradetrail.spec_forms import expand_spec
from gradetrail.yaml_source import Place, Source, read_source

__all__ = [
    "NAME", "PARAMETERS", "PROVIDERS", "Choices", "Confidence", "Dataset", "FewShot", "Model", "Prompt",
    "RequestParams", "RunKnobs", "Spec", "kept_bytes", "load_spec", "spec_from",
]  # fmt: skip

INLINE_LIMIT = 1_000_000
"""Bytes up to which a text file named by the spec is kept whole; above, its digest."""
UNPACKED_LIMIT = 1 << 28
"""Bytes up to which a file is kept compressed, so that reading it back fits in memory."""
DIGEST, PACKED = "sha256:", "zlib:"
"""How the text begins that stands for a file which is not kept, or is kept compressed."""
DRAFTS = 5
"""Times that what is at fault is left out, since leaving it out may leave a block incomplete."""
PROVIDERS = ("anthropic", "http", "mock", "openai", "openai_compatible", "python", "replay")


class Dataset(Block):
    """Where the samples come from and which of them count."""

    path: str | None = None
    """File, glob or `hf://...`; None when a DataFrame is given in Python."""
    query: str | None = None
    """SELECT over the table `dataset`; its rows are the samples."""
    id: str | None = None
    """Column that holds the sample id; default: a column `id`, else a hash of the row."""
    category: str | None = None
    cluster: str | None = None
    """Column whose equal values are not independent, for standard errors."""
    where: str | None = None
    """SQL condition over the dataset's columns."""
    shuffle_seed: int | None = None
    limit: int | None = Field(default=None, gt=0)


class Choices(Block):
    """Multiple choice: options, the right one, and the order in which they are shown."""

    from_: str = Field(alias="from")
    """Field that lists the options."""
    answer: str
    """Field with the right option: 0-based index, letter, or the option's text."""
    shuffle: Literal["none", "per_sample", "per_epoch", "rotate"] = "none"
    seed: int = 0


class Prompt(Block):
    """Templates of one prompt."""

    messages: tuple[dict[Literal["system", "user", "assistant"], str], ...] = ()
    """Each a one-key mapping of role to template."""
    turns: tuple[str, ...] = ()
    """User turns of a scripted conversation: each is a call whose messages hold the earlier answers."""

    @model_validator(mode="after")
    def _asks_something(self) -> Prompt:
        if not self.messages and not self.turns:
            raise ValueError("a prompt needs `messages` or `turns`")
        return self

    @property
    def templates(self) -> tuple[dict[Literal["system", "user", "assistant"], str], ...]:
        """Templates of the messages of the first call."""
        return (*self.messages, {"user": self.turns[0]}) if self.turns else self.messages


class FewShot(Block):
    """Examples that stand before the question."""

    path: str
    n: int = Field(gt=0)
    match: str | None = None
    """Field that must be equal in example and sample."""
    seed: int = 0
    as_: Literal["turns", "text"] = Field(default="turns", alias="as")


class Confidence(Block):
    """Where a confidence in [0, 1] comes from."""

    regex: str | None = None
    scale: float = Field(default=1, gt=0)
    from_: Literal["text", "logprobs", "votes", "provider"] = Field(default="text", alias="from")


class RunKnobs(Block):
    """How to run; never part of an identity."""

    concurrency: int = Field(default=64, gt=0)
    executor: Literal["local", "ray"] = "local"
    workers: int | None = Field(default=None, gt=0)
    timeout_s: float = Field(default=600, gt=0)
    retry_for_s: float = Field(default=600, ge=0)
    max_retries: int = Field(default=5, ge=0)
    requests_per_minute: float | None = Field(default=None, gt=0)
    tokens_per_minute: float | None = Field(default=None, gt=0)
    max_cost_usd: float | None = Field(default=None, gt=0)


class Spec(Block):
    """One spec, complete."""

    name: Name
    description: str | None = None
    dataset: Dataset
    choices: Choices | None = None
    prompts: dict[Name, Prompt] = Field(min_length=1)
    few_shot: FewShot | None = None
    target: str | list[str] | None = None
    request: RequestParams = RequestParams()
    models: tuple[Annotated[Model, BeforeValidator(expand_model)], ...] = Field(min_length=1)
    extract: Extract = ()
    confidence: Confidence | None = None
    scorers: dict[Name, Scorer] = Field(min_length=1)
    epochs: int = Field(default=1, gt=0)
    unanswered: Literal["wrong", "exclude"] = "wrong"
    run: RunKnobs = RunKnobs()

    _base: Path = PrivateAttr(default=Path())
    _source: Source | None = PrivateAttr(default=None)

    @model_validator(mode="wrap")
    @classmethod
    def _in_any_form(cls, value: Any, handler: ModelWrapValidatorHandler[Spec], info: ValidationInfo) -> Spec:
        """Take short and older forms in `Spec(...)` too; SpecError with every fault."""
        if info.context is not None or not isinstance(value, Mapping):
            return handler(value)
        faults: list[Fault] = []
        raw = expand_spec(dict(value), faults)
        try:
            spec = handler(raw)
        except ValidationError as error:
            raise SpecError(*faults, *faults_of(error, Spec)) from None
        faults.extend(_cross_checks(spec))
        if faults:
            raise SpecError(*faults)
        return spec

    @property
    def base(self) -> Path:
        """Folder against which the paths in the spec resolve."""
        return self._base

    def path(self, name: str) -> Path:
        """Resolve a path that the spec names."""
        return self._base / name

    def inlined(self, names: Iterable[str]) -> dict[str, str]:
        """Read files that the spec names; one that is no short text is given as `sha256:<hex>`."""
        paths = {name: self.path(name) for name in names}
        return {name: _text_of(path.read_bytes()) for name, path in paths.items() if path.is_file()}

    def kept(self, names: Iterable[str]) -> dict[str, str]:
        """Read files that the spec names, to be kept whole: as they are if short text, else compressed.

        One that is large even so is given as `sha256:<hex>`; `kept_bytes` reads the others.
        """
        paths = {name: self.path(name) for name in names}
        return {name: _packed(path.read_bytes()) for name, path in paths.items() if path.is_file()}

    def where(self, *place: str | int) -> str:
        """Give `file:line` of a place in the spec, for messages."""
        if self._source is None:
            return "spec"
        return _line(self._source, place)

    def params(self, model: Model) -> dict[str, Any]:
        """Merge `request` and the model's own parameters; only what is stated is in it."""
        merged: dict[str, Any] = {}
        for block in (self.request, model):
            for name in PARAMETERS:
                value = getattr(block, name)
                if value is not None and name in block.model_fields_set:
                    merged[name] = [value] if name == "stop" and isinstance(value, str) else value
        if "stop" in merged:
            merged["stop"] = list(merged["stop"])
        return merged

    def option(self, model: Model, name: str) -> Any:
        """Give a non-parameter option of the request: the model's own, else that of `request`."""
        return getattr(model if name in model.model_fields_set else self.request, name)


def _text_of(data: bytes) -> str:
    digest = f"{DIGEST}{hashlib.sha256(data).hexdigest()}"
    try:
        return data.decode() if len(data) <= INLINE_LIMIT else digest
    except UnicodeDecodeError:
        return digest


def _packed(data: bytes) -> str:
    text = _text_of(data)
    if not text.startswith((DIGEST, PACKED)):
        return text
    packed = PACKED + b64encode(zlib.compress(data)).decode()
    is_small = len(packed) <= INLINE_LIMIT and len(data) <= UNPACKED_LIMIT
    return packed if is_small else f"{DIGEST}{hashlib.sha256(data).hexdigest()}"


def kept_bytes(text: str) -> bytes | None:
    """Give the content of a file that a task or manifest keeps; None if it keeps the digest alone."""
    if text.startswith(DIGEST):
        return None
    if not text.startswith(PACKED):
        return text.encode()
    return zlib.decompressobj().decompress(b64decode(text[len(PACKED) :]), UNPACKED_LIMIT)


def _line(source: Source, place: Place) -> str:
    """Give `file:line` of a place, which the short and older forms spell in another way."""
    one = SHORT_FORMS.get(str(place[0])) if place else None
    if one is not None and place[:1] not in source.lines and (one,) in source.lines:
        place = (one, *place[2:])
    return source.where(place)


def load_spec(path: str | os.PathLike[str]) -> Spec:
    """Read and validate a spec file; paths in it resolve against its folder.

    Raises SpecError with one fault for each thing that is wrong: file:line, field, fix.
    """
    file = Path(path)
    source = read_source(file)
    if not isinstance(source.value, dict):
        raise SpecError(Fault("a spec is a mapping with `name`, `dataset`, `prompt`, ...", f"{file}:1"))
    return spec_from(source.value, base=file.parent, source=source)


def spec_from(value: Mapping[str, Any], *, base: Path = Path(), source: Source | None = None) -> Spec:
    """Validate a spec that is given as a mapping (Python) or parsed from a file."""
    faults: list[Fault] = []
    raw = expand_spec(dict(value), faults)
    spec, found = _checked(raw)
    faults.extend(found)
    if spec is None or faults:
        raise _error_of(faults, raw, base, source)
    spec._base, spec._source = base, source
    return spec


def _checked(raw: Mapping[str, Any]) -> tuple[Spec | None, list[Fault]]:
    """Validate the full form; None where it has not even the form of a spec."""
    try:
        spec = Spec.model_validate(raw, context={"is_expanded": True})
    except ValidationError as error:
        return None, faults_of(error, Spec)
    return spec, list(_cross_checks(spec))


def _error_of(
    faults: Sequence[Fault], raw: Mapping[str, Any], base: Path, source: Source | None
) -> SpecError:
    """Make the error, with what the rest of the spec has, and the rest as a draft to be checked further."""
    told, draft, spec = list(faults), Draft(raw), None
    found = told
    for _ in range(DRAFTS):
        draft.leave_out(found)
        spec, found = _checked(draft.raw)
        if spec is not None:  # else what is found is a block that lacks what was left out
            told += [fault for fault in draft.own(found) if fault not in told]
        if not found:
            break
    error = SpecError(*in_order(_placed(told, source)))
    if spec is not None and not found:
        spec._base, spec._source = base, source
        error.draft, error.own_faults = spec, draft.own
    return error


def _placed(faults: list[Fault], source: Source | None) -> list[Fault]:
    placed = []
    for fault in faults:
        if not fault.where and source is not None:
            fault = replace(fault, where=_line(source, place_of(fault.field)))
        placed.append(fault)
    return placed


def _cross_checks(spec: Spec) -> Iterator[Fault]:
    yield from part_faults(spec.scorers)
    shown: dict[str, int] = {}
    for number, model in enumerate(spec.models):
        field = f"models.{number}"
        faults = list(_model_checks(spec, model, field))
        yield from faults
        if faults:
            continue
        if any(ord(char) < 32 for char in model.display):
            yield Fault("control characters in a model name", field=field, fix="write it without them")
        if model.display in shown:
            yield Fault(
                f"model `{model.display}` stands twice",
                field=field,
                fix="give one of them another name with `as:`",
            )
        shown[model.display] = number
    alone = spec.model_copy(update={"request": RequestParams()})
    for place, judge in judges_in(spec.scorers):
        yield from _model_checks(alone, judge.model, ".".join(("scorers", *place, "model")))


def _model_checks(spec: Spec, model: Model, field: str) -> Iterator[Fault]:
    if model.provider in PROVIDERS and model.name:
        yield from _provider_checks(spec, model, field)
        return
    near = difflib.get_close_matches(model.provider, PROVIDERS, n=1, cutoff=0.6)
    meant = f"did you mean `{near[0]}/{model.name}`? " if near and model.name else ""
    yield Fault(
        f"unknown model `{model.model}`", field=f"{field}.model",
        fix=f"{meant}write provider/name; providers: {', '.join(PROVIDERS)}; "
        "for vLLM, Ollama or OpenRouter openai_compatible/NAME and `base_url:`",
    )  # fmt: skip


def _provider_checks(spec: Spec, model: Model, field: str) -> Iterator[Fault]:
    needs = {"openai_compatible": ("base_url",), "http": ("base_url", "reply"), "python": ("path",)}
    for name in needs.get(model.provider, ()):
        if getattr(model, name) is None:
            yield Fault(f"`{model.provider}` needs `{name}`", field=field, fix=f"add `{name}:`")
    if "${" in (model.base_url or "") and model.endpoint is None:
        # the variable's value is stored nowhere, so two servers would pass for one
        yield Fault(
            "`base_url` is read from the environment, so the server needs a name",
            field=f"{field}.base_url",
            fix="add `endpoint: NAME`: answers are kept, and served again, under that name",
        )
    if model.provider == "replay" and (model.answers is None) == (model.field is None):
        message = "a replay model needs `answers` (a file) or `field` (a path in the sample)"
        yield Fault(message, field=field, fix="add one of the two, such as `answers: answers.jsonl`")
    if model.provider == "anthropic" and "max_tokens" not in spec.params(model):
        yield Fault(
            "Anthropic requires max_tokens",
            field=field,
            fix="add `request: {max_tokens: 1024}` or to the model",
        )
    if "n" in (spec.params(model).get("extra") or {}):
        yield Fault("`n` asks for several answers at once", field=field, fix="use `epochs:`")
