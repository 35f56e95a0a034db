"""What the fake servers say: a function of the request alone, in the form of each API.

Where a prompt holds `[[gold=72]]` (the last one counts) the reply ends `Answer: 72` for a share of
prompts and another number for the rest; otherwise it ends with a number drawn from the prompt.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

GOLD = re.compile(r"\[\[gold=([^\]]*)\]\]")
WORDS = (
    "first we add the two numbers then multiply by the count and subtract what was given away "
    "so the total per day is taken over the week which leaves the remaining amount to share"
).split()


@dataclass(frozen=True)
class Manner:
    """How the server answers."""

    accuracy: float = 0.8
    """Share of prompts with a gold answer that get it."""
    words: int = 20
    """Length of a reply, in words and in tokens."""


def text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(part.get("text", "") for part in content if isinstance(part, dict))
    return ""


def prompt_of(path: str, body: dict[str, Any]) -> str:
    """Join everything that was asked, whatever the API."""
    if path.endswith("/responses"):
        asked = body.get("input", "")
        items = [{"content": asked}] if isinstance(asked, str) else asked
        return "\n".join(
            [text_of(body.get("instructions")), *(text_of(item.get("content")) for item in items)]
        )
    messages = body.get("messages") or ()
    return "\n".join(
        [text_of(body.get("system")), *(text_of(message.get("content")) for message in messages)]
    )


def digest_of(path: str, body: dict[str, Any]) -> bytes:
    """Hash what may change an answer."""
    asked = f"{body.get('model')}\0{body.get('seed')}\0{body.get('temperature')}\0{prompt_of(path, body)}"
    return blake2b(asked.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def unit(digest: bytes, start: int) -> float:
    """Give a uniform number in [0, 1) from four bytes of a digest."""
    return int.from_bytes(digest[start : start + 4], "little") / 2**32


def answer_text(prompt: str, digest: bytes, manner: Manner) -> str:
    """Answer a prompt."""
    filler = " ".join(WORDS[(digest[0] * 7 + n) % len(WORDS)] for n in range(max(0, manner.words - 2)))
    found = GOLD.findall(prompt)
    if not found:
        return f"{filler} Answer: {int.from_bytes(digest[1:3], 'little') % 100}".strip()
    gold = found[-1]
    if unit(digest, 4) < manner.accuracy:
        return f"{filler} Answer: {gold}".strip()
    wrong = str(int(gold) + 1 + digest[8] % 9) if gold.lstrip("-").isdecimal() else f"not-{gold}"
    return f"{filler} Answer: {wrong}".strip()


def default_body(path: str, body: dict[str, Any], manner: Manner) -> dict[str, Any]:
    """Give the whole body of an answer in the form of the API that the path belongs to."""
    prompt, digest = prompt_of(path, body), digest_of(path, body)
    text, model, name = answer_text(prompt, digest, manner), body.get("model"), digest.hex()
    asked = max(1, len(prompt) // 4)
    if path.endswith("/messages"):
        usage = {"input_tokens": asked, "output_tokens": manner.words}
        cached = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
        return {
            "id": f"msg_{name}", "type": "message", "role": "assistant", "model": model,
            "content": [{"type": "text", "text": text}], "stop_reason": "end_turn", "stop_sequence": None,
            "usage": usage | cached,
        }  # fmt: skip
    if path.endswith("/responses"):
        part = {"type": "output_text", "text": text, "annotations": []}
        message = {
            "type": "message",
            "id": f"msg_{name}",
            "role": "assistant",
            "status": "completed",
            "content": [part],
        }
        usage = {"input_tokens": asked, "output_tokens": manner.words, "total_tokens": asked + manner.words}
        return {
            "id": f"resp_{name}", "object": "response", "model": model, "status": "completed", "error": None,
            "incomplete_details": None, "output": [message], "usage": usage,
        }  # fmt: skip
    choice: dict[str, Any] = {
        "index": 0,
        "message": {"role": "assistant", "content": text},
        "finish_reason": "stop",
    }
    if body.get("logprobs"):
        choice["logprobs"] = {"content": logprobs(text, int(body.get("top_logprobs") or 0), digest)}
    usage = {"prompt_tokens": asked, "completion_tokens": manner.words, "total_tokens": asked + manner.words}
    return {
        "id": f"chatcmpl-{name}", "object": "chat.completion", "created": 1700000000, "model": model,
        "choices": [choice], "usage": usage,
    }  # fmt: skip


def logprobs(text: str, top: int, digest: bytes) -> list[dict[str, Any]]:
    """Make up log-probabilities, one token a word."""
    made = []
    for n, token in enumerate(re.findall(r"\s*\S+", text)):
        value = -0.01 - digest[n % len(digest)] / 255
        others = [{"token": token, "logprob": value}] + [
            {"token": f" alt{k}", "logprob": value - k} for k in range(1, top)
        ]
        made.append(
            {"token": token, "logprob": value, "bytes": list(token.encode()), "top_logprobs": others[:top]}
        )
    return made
