"""A judge without a model, for trying specs out: right is an answer that holds the reference.

Invariant: a verdict depends on the question's text alone. What it reads are the parts that judge files
mark with tags: `<reference>`, `<answer>`, `<answer_a>` and `<answer_b>`.
"""

from __future__ import annotations

import json
import re

_LEVELS = re.compile(r'"(\w+)": "one of ([-\d., ]*\d)')
"""A criterion of a rubric with its levels, in the words of `reply_format`."""


def verdict(prompt: str) -> str:
    """Judge by the form of reply that the prompt asks for."""
    reference = _part(prompt, "reference")
    if '"winner"' in prompt:
        a, b = (_is_right(_part(prompt, name), reference) for name in ("answer_a", "answer_b"))
        winner = "tie" if a == b else "A" if a else "B"
        return json.dumps({"reason": f"{_told(a)} A, {_told(b)} B", "winner": winner, "confidence": 0.9})
    is_right = _is_right(_part(prompt, "answer"), reference)
    if "GRADE:" in prompt:
        return f"{_told(is_right)}.\nGRADE: {'C' if is_right else 'I'}"
    levels = {name: [float(level) for level in listed.split(",")] for name, listed in _LEVELS.findall(prompt)}
    if '"scores"' in prompt and levels:
        choose = max if is_right else min
        scores = {name: choose(listed) for name, listed in levels.items()}
        return json.dumps({"reason": _told(is_right), "scores": scores, "confidence": 0.9})
    return json.dumps({"reason": _told(is_right), "score": int(is_right), "confidence": 0.9})


def _part(prompt: str, tag: str) -> str:
    found = re.findall(rf"<{tag}>\n?(.*?)\n?</{tag}>", prompt, re.DOTALL)
    return str(found[-1]).strip() if found else ""


def _is_right(answer: str, reference: str) -> bool:
    """Say whether an answer holds the reference as words of its own; without one, whether there is any."""
    if not reference:
        return bool(answer)
    return re.search(rf"(?<!\w){re.escape(reference)}(?!\w)", answer, re.IGNORECASE) is not None


def _told(is_right: bool) -> str:
    return "the reference is in" if is_right else "the reference is not in"
