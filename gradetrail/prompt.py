"""The only Jinja: (spec, sample) -> messages and target; few-shot examples and choices.

Invariant: data is inert. A value is rendered once, in a sandbox, under strict rules: an undefined
or null value is an error, a bare list or object is refused, booleans and numbers keep JSON text.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from jinja2 import StrictUndefined, TemplateSyntaxError, meta
from jinja2.exceptions import SecurityError, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from gradetrail.dataset import json_text, load_samples, parse_row
from gradetrail.errors import DatasetError, Fault, did_you_mean
from gradetrail.option_answers import LETTERS, AnswerWatch, readings
from gradetrail.request import content_id
from gradetrail.spec import Choices, Dataset, Spec

FIELD_ONLY = re.compile(r"\s*\{\{\s*([A-Za-z_]\w*(?:\.\w+)*)\s*\}\}\s*\Z")
"""A template that is exactly one field, whose type is kept."""
_NUMBER = re.compile(r"[-+\u2212]?(?:\d[\d,]*)?\.?\d+(?:[eE][-+]?\d+)?")


class RenderError(ValueError):
    """A template cannot be rendered with one sample."""


class Options(list[str]):
    """Options of a multiple-choice sample in the order shown; prints as lettered lines."""

    def __str__(self) -> str:
        return "\n".join(f"{letter}. {text}" for letter, text in zip(LETTERS, self, strict=False))


def _finalize(value: Any) -> Any:
    if value is None:
        raise RenderError("a null value")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Options):
        return str(value)
    if isinstance(value, list | tuple | dict):
        kind = "an object" if isinstance(value, dict) else "a list"
        raise RenderError(f"{kind} as it is (use `| join(', ')` or `| tojson`)")
    return value


def _after(value: Any, marker: str) -> str:
    """Give what follows the last `marker`, stripped; an error if it is not there."""
    _, found, rest = _text(value).rpartition(marker)
    if not found:
        raise RenderError(f"`after({marker!r})`: the marker is not in the value")
    return rest.strip()


def _number(value: Any) -> str:
    """Give the last number in the value as plain digits: no separators, no currency."""
    numbers = _NUMBER.findall(_text(value))
    if not numbers:
        raise RenderError("`number`: there is no number in the value")
    return str(numbers[-1]).replace(",", "").replace("\u2212", "-")


def _text(value: Any) -> str:
    return str(_finalize(value))


@lru_cache(maxsize=1)
def environment() -> ImmutableSandboxedEnvironment:
    """Give the one sandboxed environment."""
    env = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined, finalize=_finalize, autoescape=False, keep_trailing_newline=False
    )
    env.filters.update(
        after=_after,
        number=_number,
        strip=lambda value: _text(value).strip(),
        regex_escape=lambda value: re.escape(_text(value)),
        tojson=json_text,
    )
    env.globals.clear()
    return env


@lru_cache(maxsize=4096)
def _compiled(source: str) -> Any:
    return environment().from_string(source)


TEMPLATE_FIX = (
    "a field is `{{ name }}`, a condition `{% if name %}...{% endif %}`; braces as text `{{ '{{' }}`"
)


def syntax_fault(source: str, where: str, field: str) -> Fault | None:
    """Say what is wrong with a template's syntax; None if nothing is."""
    try:
        _compiled(source)
    except TemplateSyntaxError as error:
        unknown = re.match(r"No filter named '([^']+)'", error.message or "")
        fix = did_you_mean(unknown[1], environment().filters) if unknown else TEMPLATE_FIX
        return Fault(f"template: {error.message} (template line {error.lineno})", where, field, fix)
    except TemplateError as error:
        return Fault(f"template: {error}", where, field, TEMPLATE_FIX)
    return None


def render(source: str, values: Mapping[str, Any]) -> str:
    """Render a template; RenderError names the field that cannot be shown."""
    try:
        return str(_compiled(source).render(values))
    except RenderError as error:
        raise RenderError(f"{error}{_suspects(source, values)}") from None
    except SecurityError as error:
        raise RenderError(f"not allowed in a template: {error}") from None
    except TemplateError as error:
        missing = re.match(r"'([^']+)' is undefined", str(error))
        hint = f"; {did_you_mean(missing[1], values)}" if missing else ""
        raise RenderError(f"{error}{hint}") from None
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
        raise RenderError(f"{type(error).__name__}: {error}") from None


def _suspects(source: str, values: Mapping[str, Any]) -> str:
    names = meta.find_undeclared_variables(environment().parse(source))
    odd = [n for n in sorted(names) if values.get(n) is None or isinstance(values.get(n), list | dict)]
    return f" in {', '.join(f'`{name}`' for name in odd)}" if odd else ""


@lru_cache(maxsize=4096)
def names_in(source: str) -> frozenset[str]:
    """Name the variables that a template reads; none where its syntax is wrong."""
    try:
        return frozenset(meta.find_undeclared_variables(environment().parse(source)))
    except TemplateError:
        return frozenset()


@lru_cache(maxsize=4096)
def own_text(source: str) -> str:
    """Give the text that a template itself writes, NUL for what stands in braces; "" for wrong syntax."""
    try:
        tokens = list(environment().lex(source))
    except TemplateError:
        return ""
    return "".join(text if kind == "data" else "\0" for _, kind, text in tokens)


def value_of(source: str, values: Mapping[str, Any]) -> Any:
    """Evaluate a template; one that is exactly one `{{ field }}` keeps the field's type."""
    field = FIELD_ONLY.match(source)
    if field is None:
        return render(source, values)
    value: Any = values
    for name in field[1].split("."):
        if not isinstance(value, Mapping) or name not in value:
            raise RenderError(f"'{field[1]}' is undefined; {did_you_mean(name, values)}")
        value = value[name]
    return value


def target_texts(target: str | Sequence[str] | None, values: Mapping[str, Any]) -> list[str] | None:
    """Render a target to one text for each acceptable answer; None where the sample has none."""
    if target is None:
        return None
    if isinstance(target, str):
        value = value_of(target, values)
        items = value if isinstance(value, list | tuple) else [value]
        if value is None or (isinstance(value, list | tuple) and not value):
            return None
    else:
        items = [value_of(item, values) for item in target]
    texts = []
    for item in items:
        if isinstance(item, dict):
            texts.append(json_text(item))
        else:
            texts.append(_text(item))
    return texts


def shown_order(choices: Choices, count: int, sample_id: str, epoch: int) -> list[int]:
    """Give the original index of each option in the order shown; the same for ever for equal input."""
    if choices.shuffle == "none":
        return list(range(count))
    if choices.shuffle == "rotate":
        return [(index + epoch - 1) % count for index in range(count)]
    salt = f"{choices.seed}:{sample_id}" + (f":{epoch}" if choices.shuffle == "per_epoch" else "")
    return sorted(range(count), key=lambda index: hashlib.sha256(f"{salt}:{index}".encode()).digest())


def right_option(answer: Any, options: Sequence[str]) -> int:
    """Find the index of the right option; of several readings the first counts."""
    if isinstance(answer, int) and not isinstance(answer, bool):
        if 0 <= answer < len(options):
            return answer
        raise RenderError(f"answer {answer} is outside 0..{len(options) - 1}")
    text = _text(answer).strip()
    found = readings(text, options)
    if not found:
        raise RenderError(f"answer `{text}` is no index, letter or text of the {len(options)} options")
    return next(iter(found.values()))


@dataclass(frozen=True, slots=True)
class Rendered:
    """What one trial asks."""

    messages: list[dict[str, str]]
    follow_ups: list[str]
    """User turns after the first, of a scripted conversation; empty for a single call."""
    choice_order: list[int] | None
    """Original index of each option in the order shown; None without choices."""


def example_faults(spec: Spec) -> list[Fault]:
    """Say what is wrong with the few-shot examples of a spec; empty if nothing is, or there are none."""
    try:
        Renderer(spec)
    except DatasetError as error:
        return list(error.faults)
    return []


class Renderer:
    """Renders the prompts, targets and scorer templates of one spec."""

    def __init__(self, spec: Spec, *, with_examples: bool = True) -> None:
        self.spec = spec
        self._answers = AnswerWatch()
        self._examples: list[tuple[str, dict[str, Any]]] = []
        self.examples_id: str | None = None
        if spec.few_shot is not None and with_examples:
            self._load_examples(spec)

    def _load_examples(self, spec: Spec) -> None:
        assert spec.few_shot is not None
        dataset = Dataset(path=spec.few_shot.path, id=None)
        try:
            samples = load_samples(spec.model_copy(update={"dataset": dataset}), block="few_shot")
        except DatasetError as error:
            place = spec.where("few_shot", "path")
            faults = [
                f if f.where == place else Fault(f"{f.where}: {f.message}", place, "few_shot.path", f.fix)
                for f in error.faults
            ]
            raise DatasetError(*faults) from None
        self.examples_id = samples.dataset_id
        ids = samples.selected.column("sample_id").to_pylist()
        rows = samples.selected.column("content").to_pylist()
        self._examples = [(str(i), parse_row(str(row))) for i, row in zip(ids, rows, strict=True)]
        field = spec.few_shot.match
        if field is not None and any(field not in row for _, row in self._examples):
            raise DatasetError(
                Fault(
                    f"few-shot examples lack the field `{field}`",
                    spec.where("few_shot", "match"),
                    "few_shot.match",
                )
            )

    def faults(self) -> list[Fault]:
        """Check the syntax of every template of the spec."""
        found = [
            syntax_fault(source, self.spec.where("prompts", name), f"prompts.{name}")
            for name, prompt in self.spec.prompts.items()
            for source in (*(t for message in prompt.messages for t in message.values()), *prompt.turns)
        ]
        targets = self.spec.target if isinstance(self.spec.target, list) else [self.spec.target]
        found += [syntax_fault(t, self.spec.where("target"), "target") for t in targets if t is not None]
        return [fault for fault in found if fault is not None]

    def warnings(self) -> list[str]:
        """Say what is unclear in the rows that were rendered so far."""
        return self._answers.warnings(self.spec.choices.answer) if self.spec.choices else []

    def prompt_id(self, name: str) -> str:
        """Hash templates, roles, few-shot content and choice shuffling."""
        spec = self.spec
        content: dict[str, Any] = {
            "messages": [dict(message) for message in spec.prompts[name].templates],
            "system": spec.request.system,
            "choices": spec.choices.model_dump(by_alias=True) if spec.choices else None,
        }
        if spec.prompts[name].turns:
            content["turns"] = list(spec.prompts[name].turns)
        if spec.few_shot is not None:
            shot = spec.few_shot.model_dump(by_alias=True, exclude={"path"})
            content["few_shot"] = {**shot, "examples": self.examples_id, "target": spec.target}
        return content_id("gradetrail.prompt.v1", content)

    def values(
        self, row: Mapping[str, Any], sample_id: str, epoch: int, order: Sequence[int] | None = None
    ) -> tuple[dict[str, Any], list[int] | None]:
        """Give the template variables of a sample, and the order of its choices (None without)."""
        choices = self.spec.choices
        if choices is None:
            return dict(row), None
        options = row.get(choices.from_)
        if isinstance(options, dict):
            options = list(options.values())
        if not isinstance(options, list) or not options:
            raise RenderError(f"choices.from: `{choices.from_}` is no list of options")
        if len(options) > len(LETTERS):
            raise RenderError(f"choices.from: {len(options)} options, at most {len(LETTERS)}")
        texts = [_text(option) for option in options]
        if choices.answer not in row:
            raise RenderError(
                f"choices.answer: '{choices.answer}' is undefined; {did_you_mean(choices.answer, row)}"
            )
        right = right_option(row[choices.answer], texts)
        self._answers.look(row[choices.answer], texts, sample_id)
        shown = list(order) if order is not None else shown_order(choices, len(texts), sample_id, epoch)
        values = dict(row)
        values["choices"] = Options(texts[index] for index in shown)
        values["letters"] = ", ".join(LETTERS[: len(texts)])
        values["answer_letter"] = LETTERS[shown.index(right)]
        return values, shown

    def render(
        self, prompt: str, row: Mapping[str, Any], sample_id: str, epoch: int, system: str | None
    ) -> Rendered:
        """Render the messages of one trial; `system` stands in where the prompt has no system message."""
        values, order = self.values(row, sample_id, epoch)
        templates = self.spec.prompts[prompt].templates
        messages = [
            {"role": role, "content": render(source, values)}
            for item in templates
            for role, source in item.items()
        ]
        if self._examples:
            messages = self._with_examples(templates, messages, row)
        if system is not None and not any(message["role"] == "system" for message in messages):
            messages.insert(0, {"role": "system", "content": render(system, values)})
        follow_ups = [render(source, values) for source in self.spec.prompts[prompt].turns[1:]]
        return Rendered(messages, follow_ups, order)

    def _with_examples(
        self,
        templates: Sequence[Mapping[Any, str]],
        messages: list[dict[str, str]],
        row: Mapping[str, Any],
    ) -> list[dict[str, str]]:
        shot = self.spec.few_shot
        assert shot is not None
        last = max((n for n, item in enumerate(templates) if "user" in item), default=None)
        if last is None:
            raise RenderError("few_shot: the prompt has no user message")
        asked = templates[last]["user"]
        pairs: list[tuple[str, str]] = []
        for example_id, example in self._chosen(row):
            values, _ = self.values(example, example_id, 1)
            target = self.spec.target if self.spec.target is not None else "{{ answer_letter }}"
            answers = target_texts(target, values)
            if not answers:
                raise RenderError(f"few_shot: example `{example_id}` has no target")
            pairs.append((render(asked, values), answers[0]))
        head, rest = messages[:last], messages[last:]
        if shot.as_ == "text":
            text = "".join(f"{question} {answer}\n\n" for question, answer in pairs)
            return [*head, {"role": "user", "content": text + rest[0]["content"]}, *rest[1:]]
        turns = [
            message
            for question, answer in pairs
            for message in ({"role": "user", "content": question}, {"role": "assistant", "content": answer})
        ]
        return [*head, *turns, *rest]

    def _chosen(self, row: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
        shot = self.spec.few_shot
        assert shot is not None
        pool = [(i, example) for i, example in self._examples if example != row]
        if shot.match is not None:
            if shot.match not in row:
                raise RenderError(
                    f"few_shot.match: '{shot.match}' is undefined; {did_you_mean(shot.match, row)}"
                )
            pool = [(i, example) for i, example in pool if example[shot.match] == row[shot.match]]
        if len(pool) < shot.n:
            raise RenderError(f"few_shot: {len(pool)} examples fit this sample, {shot.n} are asked for")
        drawn = sorted(pool, key=lambda item: hashlib.sha256(f"{shot.seed}:{item[0]}".encode()).digest())[
            : shot.n
        ]
        keep = {example_id for example_id, _ in drawn}
        return [item for item in pool if item[0] in keep]

    def targets(self, target: str | Sequence[str] | None, values: Mapping[str, Any]) -> list[str] | None:
        """Render a target; with choices and no target it is the letter of the right option shown."""
        if target is None and self.spec.choices is not None:
            return [str(values["answer_letter"])]
        return target_texts(target, values)
