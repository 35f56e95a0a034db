"""How a judge's reply is read: the protocol of judge files.

Invariant: a reply is readable or it is not; what cannot be read is never a grade. One code fence around
a JSON object is taken off, and nothing else is forgiven.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any

import orjson

from gradetrail.scorer_spec import JudgeFile

FENCE = re.compile(r"\s*```[ \t]*(?:json[ \t]*)?\r?\n(.*?)```\s*", re.DOTALL | re.IGNORECASE)
INVISIBLE = re.compile("[\u200b-\u200d\u2060\ufeff\u00ad]")
"""Characters without a width, which some models put between words."""
SHOWN = 200
"""Characters of an unreadable reply that are kept to explain."""
WINNERS = {"a": 1.0, "b": 0.0, "tie": 0.5}
"""Worth of the answer that was shown as A."""
_MARKER = re.compile(r"(?<![^\W_])grade(?![^\W_])", re.IGNORECASE)
_AFTER_MARKER = re.compile(
    r"[ \t*_`\"'”’)\]]*(?:[:=：＝→]|[-=]>|\r?\n)"  # noqa: RUF001 - models write wide marks
    r"(?:[\s*_`\"'“”‘’(\[{<$]|\\(?:boxed|text|textbf|mathrm)\b)*"  # noqa: RUF001
    r"([^\W_]+)"
    r"(?:[*_`\"'”’)\]}>$.,;!]*[^\S\n]*(?:\n|\Z)|[*_`\"'”’)\]}>$]*(?:[.;!][*_`\"'”’)\]}>$]*\s| \())"  # noqa: RUF001
)
"""The separator or end of line after the marker, the grade, and what shows that it ends there."""
_TAG = re.compile(r"<(/?)(think|thinking|reasoning)>", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reply says."""

    scores: dict[str, float]
    """By metric: `score`, or the criteria of a rubric; for a preference the worth of the answer shown as A.
    Empty with a fault."""
    verdict: str = ""
    """The judge's own word for it."""
    reason: str = ""
    confidence: float | None = None
    """In [0, 1]; None if the judge gave none that is."""
    fault: str | None = None
    """Why it cannot be read, with the beginning of the reply."""


def final_text(text: str) -> str:
    """Leave out the reasoning that a model writes into its text, as the SQL macro of this name does.

    Linear in the text, whatever tags a judge writes.
    """
    if ">" not in text:
        return text
    left = _without_pairs(text)
    start = 0
    for tag in _TAG.finditer(left):
        if tag[1]:
            start = tag.end()
    left = left[start:]
    return "" if _TAG.search(left) else left


def _without_pairs(text: str) -> str:
    tags = list(_TAG.finditer(text))
    last = {tag[2].lower(): index for index, tag in enumerate(tags) if tag[1]}
    kept = []
    start = 0
    opening: re.Match[str] | None = None
    for index, tag in enumerate(tags):
        name = tag[2].lower()
        if opening is None:
            if not tag[1] and last.get(name, -1) > index:
                kept.append(text[start : tag.start()])
                opening = tag
        elif tag[1] and name == opening[2].lower():
            start = tag.end()
            opening = None
    return "".join((*kept, text[start:]))


def read_reply(file: JudgeFile, text: str, stop_reason: str | None = None) -> Reading:
    """Read a reply by the protocol of a judge file; never raises."""
    final = final_text(text)
    try:
        return _grade(file, final) if file.reply == "grade" else _object(file, final)
    except _UnreadableError as error:
        cut = "cut off, " if stop_reason == "length" else ""
        shown = text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
        return Reading({}, fault=f"{cut}{error}: {shown}" if text.strip() else "an empty reply")


class _UnreadableError(Exception):
    """A reply does not follow the protocol."""


def _grade(file: JudgeFile, text: str) -> Reading:
    clear = INVISIBLE.sub("", text)
    worth = {name.casefold(): (name, value) for name, value in file.grades.items()}
    *_, last = (0, *(found.end() for found in _MARKER.finditer(clear)))
    found = _AFTER_MARKER.match(clear, last) if last else None
    if found is None or found[1].casefold() not in worth:
        raise _UnreadableError("its end is no `GRADE:` with one of " + ", ".join(file.grades))
    name, value = worth[found[1].casefold()]
    return Reading({"score": value}, name, clear.strip())


def _object(file: JudgeFile, text: str) -> Reading:
    fenced = FENCE.fullmatch(text)
    source = fenced[1] if fenced else text.strip()
    try:
        value = orjson.loads(source)
        if isinstance(value, dict):
            json.loads(source, object_pairs_hook=_once)
    except (orjson.JSONDecodeError, RecursionError):
        raise _UnreadableError("not a JSON object") from None
    if not isinstance(value, dict):
        raise _UnreadableError("not a JSON object")
    reason = value.get("reason")
    if not isinstance(reason, str):
        raise _UnreadableError("no text in `reason`")
    scores, verdict = _verdict(file, value)
    return Reading(scores, verdict, reason.strip(), _confidence(value.get("confidence")))


def _once(pairs: list[tuple[str, Any]]) -> None:
    """Refuse an object with a key that stands twice, of which parsers silently take the last."""
    names: set[str] = set()
    for name, _ in pairs:
        if name in names:
            raise _UnreadableError(f"`{name[:SHOWN]}` stands twice")
        names.add(name)


def _verdict(file: JudgeFile, value: dict[str, Any]) -> tuple[dict[str, float], str]:
    if file.kind == "preference":
        winner = value.get("winner")
        if not isinstance(winner, str) or winner.strip().casefold() not in WINNERS:
            raise _UnreadableError("`winner` is not A, B or tie")
        name = winner.strip().casefold()
        return {"score": WINNERS[name]}, name if name == "tie" else name.upper()
    if file.kind == "rubric":
        scores = _levels(file, value.get("scores"))
        return scores, ", ".join(f"{name} {score:g}" for name, score in scores.items())
    score = _number(value.get("score"), "score")
    if file.kind == "binary" and score not in (0, 1):
        raise _UnreadableError("`score` is neither 0 nor 1")
    if not 0 <= score <= 1:
        raise _UnreadableError("`score` is outside 0..1")
    return {"score": score}, f"{score:g}"


def _levels(file: JudgeFile, given: Any) -> dict[str, float]:
    if not isinstance(given, dict):
        raise _UnreadableError("no mapping in `scores`")
    scores = {}
    for name, criterion in file.rubric.items():
        score = scores[name] = _number(given.get(name), f"scores.{name}")
        if score not in criterion.levels:
            raise _UnreadableError(f"`scores.{name}` is no level of the rubric")
    return scores


def _number(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise _UnreadableError(f"no number in `{name}`")
    return float(value)


def _confidence(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value <= 1 else None
