"""What a judge is asked about one answer: the messages, rendered from its file and the sample.

Invariant: the answer is a value and never a template, and no value closes a tag that the template puts
around values; the reasoning of the model under test is shown only where the file's template names it.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from gradetrail.prompt import names_in, own_text, render
from gradetrail.scorer_spec import JudgeFile

ANSWER = ("response", "reasoning", "conversation")
PAIR = ("response_a", "response_b", "conversation")
"""Names that a judge's template has besides the sample's fields, `target`, `criteria`, `examples` and
`reply_format`; for a preference those of PAIR. They win over fields of the sample."""
_ANGLE = re.compile("[<\ufe64\uff1c]")
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff]"
)
"""Characters that show nothing, besides those of the category Cf."""
NUMBERS = "Give numbers without quotes for the scores and for confidence, which is how sure you are."
_OPENING = re.compile(r"<([A-Za-z_][\w.-]*)[^<>]*>")
JSON_NUDGE = (
    "Reply with that JSON object only: no other text before or after it, and every key that is asked for."
)


def judge_template(file: JudgeFile, *, has_target: bool) -> str:
    """Give the file's template, or that of its kind."""
    return file.prompt if file.prompt is not None else "\n\n".join(_sections(file, has_target=has_target))


def _sections(file: JudgeFile, *, has_target: bool) -> Iterator[str]:
    if file.kind == "preference":
        yield "You compare two answers to the same question, and say which one is better."
    else:
        yield "You grade an answer to a question."
    if file.criteria:
        yield "What counts:\n{{ criteria }}"
    if file.strict:
        yield "Be strict: whatever is in doubt, missing or merely implied counts as wrong."
    if file.examples:
        yield "Examples:\n{{ examples }}"
    yield "<question>\n{{ conversation }}\n</question>"
    if has_target:
        yield "<reference>\n{{ target }}\n</reference>"
    if file.kind == "preference":
        yield "<answer_a>\n{{ response_a }}\n</answer_a>\n\n<answer_b>\n{{ response_b }}\n</answer_b>"
    else:
        yield "<answer>\n{{ response }}\n</answer>"
    yield "{{ reply_format }}"


def reply_format(file: JudgeFile) -> str:
    """Say how to reply."""
    if file.reply == "grade":
        letters = ", ".join(file.grades)
        return f"Give your reasons, then end with one line `GRADE: X`, where X is one of {letters}."
    if file.kind == "preference":
        verdict = '"winner": "A", "B" or "tie"'
    elif file.kind == "rubric":
        return f"Reply with one JSON object and nothing else, of this form: {_rubric_form(file)}\n{NUMBERS}"
    elif file.kind == "binary":
        verdict = '"score": 1 if the answer is right, else 0'
    else:
        verdict = '"score": a number from 0 (worst) to 1 (best)'
    keys = f'{{"reason": one or two sentences, {verdict}, "confidence": how sure you are, from 0 to 1}}'
    return f"Reply with one JSON object and nothing else: {keys}"


def _rubric_form(file: JudgeFile) -> str:
    """Write what stands in for a reply on a rubric: valid JSON, since a weak judge copies its form."""
    levels = {
        name: f"one of {', '.join(f'{level:g}' for level in sorted(item.levels))}"
        for name, item in file.rubric.items()
    }
    form = {"reason": "one or two sentences", "scores": levels, "confidence": "from 0 to 1"}
    return json.dumps(form, ensure_ascii=False)


def criteria_text(file: JudgeFile) -> str:
    """Write the criteria; those of a rubric with their levels."""
    if not file.rubric:
        return str(file.criteria or "")
    lines = []
    for name, item in file.rubric.items():
        lines.append(f"- {name}: {item.description}" if item.description else f"- {name}")
        lines += [f"  - {level:g}: {text}" for level, text in sorted(item.levels.items()) if text]
    return "\n".join(lines)


def examples_text(file: JudgeFile) -> str:
    """Write the examples, each as JSON on lines of its own."""
    return "\n".join(json.dumps(example, ensure_ascii=False) for example in file.examples)


def _tags_around_values(template: str) -> set[str]:
    """Name the tags that a template opens before a value and closes after it."""
    text = own_text(template)
    tags = set()
    for opening in _OPENING.finditer(text):
        within, closing, _ = text[opening.end() :].partition(f"</{opening[1]}>")
        if closing and "\0" in within:
            tags.add(opening[1])
    return tags


def _broken(text: str, closing: re.Pattern[str]) -> str:
    """Write `&lt;` where a closing tag begins, also one in wide letters or with unseen characters in it."""
    if _ANGLE.search(text) is None:
        return text
    if text.isascii():
        return closing.sub("&lt;", text)
    plain = [_plain(character) for character in text]
    places = [place for place, shown in enumerate(plain) for _ in shown]
    kept = list(text)
    for tag in closing.finditer("".join(plain)):
        kept[places[tag.start()]] = "&lt;"
    return "".join(kept)


@lru_cache(maxsize=4096)
def _plain(character: str) -> str:
    if unicodedata.category(character) == "Cf" or _UNSEEN.match(character):
        return ""
    return unicodedata.normalize("NFKC", character)


class JudgePrompt:
    """Renders the messages of one judge."""

    def __init__(self, file: JudgeFile, *, has_target: bool) -> None:
        self.template = judge_template(file, has_target=has_target)
        self.system = file.system
        self.answer_names = PAIR if file.kind == "preference" else ANSWER
        self.nudge = file.nudge or (reply_format(file) if file.reply == "grade" else JSON_NUDGE)
        tags = _tags_around_values(self.template) | _tags_around_values(self.system or "")
        names = "|".join(map(re.escape, sorted(tags)))
        self._closing = re.compile(rf"<(?=\s*/\s*(?:{names})(?![\w.-]))", re.IGNORECASE) if tags else None
        self._fixed = {
            "criteria": criteria_text(file),
            "examples": examples_text(file),
            "reply_format": reply_format(file),
        }

    @property
    def names(self) -> frozenset[str]:
        """Names that the templates read."""
        return names_in(self.template) | names_in(self.system or "")

    def messages(
        self, values: Mapping[str, Any], targets: Sequence[str] | None, answer: Mapping[str, str]
    ) -> list[dict[str, str]]:
        """Render the question about an answer; `answer` holds `response` and what else goes with it.

        `target` is the one target, or the list of them; RenderError for what cannot be shown.
        """
        given = {**values, **answer}
        if targets:
            given["target"] = targets[0] if len(targets) == 1 else list(targets)
        own = {name: self._kept_within(value) for name, value in given.items()} | self._fixed
        messages = [{"role": "user", "content": render(self.template, own)}]
        if self.system is not None:
            messages.insert(0, {"role": "system", "content": render(self.system, own)})
        return messages

    def _kept_within(self, value: Any) -> Any:
        """Break closing tags of the template's own in a value, in whatever it holds."""
        if self._closing is None:
            return value
        if isinstance(value, str):
            return _broken(value, self._closing)
        if isinstance(value, dict):
            return {self._kept_within(name): self._kept_within(item) for name, item in value.items()}
        if isinstance(value, list):
            return type(value)(self._kept_within(item) for item in value)
        return value

    def nudged(self, messages: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
        """Ask the same once more, and how to reply."""
        *head, last = (dict(message) for message in messages)
        return [*head, {**last, "content": f"{last['content']}\n\n{self.nudge}"}]

    def try_on(self, values: Mapping[str, Any], targets: Sequence[str] | None) -> None:
        """Render with an answer that stands in for those to come; RenderError as later."""
        self.messages(values, targets, dict.fromkeys(self.answer_names, "(answer)"))


def conversation_text(messages: str | None) -> str:
    """Write the messages that the model under test was sent; `messages` is their JSON."""
    try:
        listed = json.loads(messages or "[]")
    except json.JSONDecodeError:
        return ""
    texts = [(item.get("role", "user"), item.get("content")) for item in listed if isinstance(item, dict)]
    if len(texts) == 1:
        return _content(texts[0][1])
    return "\n\n".join(f"[{role}]\n{_content(content)}" for role, content in texts)


def _content(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(part.get("text", "")) for part in parts if isinstance(part, dict))
