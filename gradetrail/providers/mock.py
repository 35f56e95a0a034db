"""Models without a model: `rule_based`, `noisy` and `biased`, and `judge`, which grades.

Invariant: an answer depends on the last user message and `seed` alone, never on order or time.
`rule_based` answers by rules and is usually right; `noisy` gives the same answer or nonsense, by a
hash; `biased` is sure of numbers and says B to everything else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256

from gradetrail.errors import Fault, ProviderError, did_you_mean
from gradetrail.providers.forms import plain_text
from gradetrail.providers.mock_arithmetic import arithmetic
from gradetrail.providers.mock_judge import verdict
from gradetrail.providers.mock_rules import answer, options_of, question_of, vocabulary
from gradetrail.providers.response import Response, Usage, with_repaired_text
from gradetrail.request import Request
from gradetrail.spec import Model

MODELS = ("biased", "judge", "noisy", "rule_based")
SALT = "noisy 225"
"""Chosen so that with seed 0 the ten tasks of the demo come out with three right."""
RIGHT_SHARE = 0.3
NOISE = (
    "amber basalt canopy drizzle ember fjord gravel harbour indigo juniper kelp lantern meadow nectar "
    "orchard pebble quartz ripple saffron thicket umber velvet willow zephyr"
).split()


@dataclass(frozen=True, slots=True)
class Said:
    """An answer with how sure the model is of it."""

    text: str
    confidence: float
    tokens: int
    nll_per_token: float


def rule_based(prompt: str, seed: int) -> Said:  # noqa: ARG001
    """Answer by rules; a token is a word."""
    text = answer(prompt)
    return Said(text, 0.92, len(text.split()), 0.8)


def noisy(prompt: str, seed: int) -> Said:
    """Answer by rules three times in ten, else nonsense; sure of itself in both cases."""
    question = question_of(prompt)
    digest = sha256(f"{SALT}\n{seed}\n{question}".encode("utf-8", "surrogatepass")).digest()
    text = answer(prompt)
    if int.from_bytes(digest[:4], "big") >= RIGHT_SHARE * 2**32:
        text = _nonsense(question, text, digest)
    return Said(text, 0.85, len(text.split()), 2.5)


def _nonsense(question: str, right: str, digest: bytes) -> str:
    """Give a wrong letter or number where one was asked for, and words that the question does not hold."""
    taken = set(vocabulary(question))
    free = [word for word in NOISE if word not in taken]
    spoken = [free[byte % len(free)] for byte in digest[6 : 8 + digest[4] % 6]]
    letters = [letter for letter, _ in options_of(question) if letter not in right]
    if letters:
        return " ".join([f"({letters[digest[5] % len(letters)]})", *spoken])
    if right.lstrip("-").isdecimal() and len(right) < 16:
        return " ".join([str(int(right) + 1 + digest[5] % 9), *spoken])
    return " ".join(spoken)


def biased(prompt: str, seed: int) -> Said:  # noqa: ARG001
    """Work out sums, and say B to everything else."""
    question = question_of(prompt)
    result = arithmetic(question) if not options_of(question) else None
    return Said("B", 0.4, 2, 3.25) if result is None else Said(result, 0.9, 4, 2.0)


def judge(prompt: str, seed: int) -> Said:  # noqa: ARG001
    """Judge an answer by its reference."""
    text = verdict(prompt)
    return Said(text, 0.9, len(text.split()), 0.5)


_ANSWER = {"biased": biased, "judge": judge, "noisy": noisy, "rule_based": rule_based}


def faults(model: Model, where: str, place: str) -> Iterator[Fault]:
    """Refuse an unknown name."""
    if model.name not in MODELS:
        yield Fault(
            f"no mock model `{model.name}`", where, f"{place}.model", did_you_mean(model.name, MODELS)
        )


class Mock:
    """Answers without any call."""

    def __init__(self, model: Model) -> None:
        self._name = model.name

    async def complete(self, request: Request, timeout_s: float) -> Response:  # noqa: ARG002
        """Answer from the last user message."""
        said_by_user = [m for m in request.messages if m.get("role") == "user"] or list(request.messages)
        prompt = plain_text(said_by_user[-1].get("content")) if said_by_user else ""
        seed = request.params.get("seed", 0)
        if self._name not in _ANSWER:
            raise ProviderError("not_found", f"no mock model `{self._name}`")
        said = _ANSWER[self._name](prompt, seed)
        asked = sum(len(plain_text(message.get("content")).split()) for message in request.messages)
        return with_repaired_text(
            Response(
                text=said.text,
                stop_reason="stop",
                raw_stop_reason="stop",
                served_model=self._name,
                usage=Usage(input_tokens=asked, output_tokens=said.tokens),
                confidence=said.confidence,
                token_nll=said.nll_per_token * said.tokens,
                token_count=said.tokens,
                origin="mock",
            )
        )

    async def close(self) -> None:
        """Do nothing."""
