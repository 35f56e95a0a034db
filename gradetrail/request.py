"""What is asked of a model, and the identities that follow from content.

Invariant: an identity is sha256 over a type tag, a newline and RFC 8785 JSON. Equal content gives
an equal id on every machine and in every version; nothing else enters.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import rfc8785

Json = Any
"""dict with str keys, list, str, int, float, bool or None."""
Message = Mapping[str, Any]
"""`{"role": "system|user|assistant|tool", "content": str | list of parts, ...}`."""

REQUEST_TAG = "gradetrail.request.v1"
SAFE_INTEGER = 2**53 - 1


def canonical_json(value: Json) -> bytes:
    """Encode as RFC 8785 (JCS) JSON: keys in UTF-16 order, ES6 numbers, UTF-8, no spaces.

    Integers beyond 2**53 - 1, which RFC 8785 leaves out, keep all their digits, so that two ids of
    twenty digits never collide. NaN and infinity raise ValueError, lone surrogates too.
    """
    try:
        return rfc8785.dumps(value)
    except rfc8785.IntegerDomainError:
        return _with_long_integers(value)
    except (rfc8785.FloatDomainError, rfc8785.CanonicalizationError, UnicodeError) as error:
        raise ValueError(f"not representable as JSON: {error}") from error


def canonical_messages(messages: Sequence[Message]) -> bytes:
    """Encode messages as RFC 8785 JSON; the plain `{role, content}` form takes a short cut."""
    encode = json.encoder.encode_basestring
    parts: list[str] = []
    for message in messages:
        content, role = message.get("content"), message.get("role")
        if len(message) != 2 or not isinstance(content, str) or not isinstance(role, str):
            return canonical_json(list(messages))
        parts.append(f'{{"content":{encode(content)},"role":{encode(role)}}}')
    return f"[{','.join(parts)}]".encode()


def strings_id(tag: str, value: list[Any]) -> str:
    """Give `content_id` of lists, strings, None, booleans and small integers alone, ten times as fast."""
    import orjson

    try:
        encoded = orjson.dumps(value)
    except TypeError:
        # half surrogates raise UnicodeEncodeError here, as they do for `content_id`
        encoded = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    return hash_canonical(tag, encoded)


def _with_long_integers(value: Json) -> bytes:
    if isinstance(value, Mapping):
        items = sorted(value.items(), key=lambda item: item[0].encode("utf-16-be"))
        body = (canonical_json(key) + b":" + canonical_json(item) for key, item in items)
        return b"{" + b",".join(body) + b"}"
    if isinstance(value, (list, tuple)):
        return b"[" + b",".join(canonical_json(item) for item in value) + b"]"
    return str(value).encode()


def content_id(tag: str, value: Json) -> str:
    """Hash `value` under a type tag such as `gradetrail.scorer.v1`; 64 lower-case hex digits."""
    return hash_canonical(tag, canonical_json(value))


def hash_canonical(tag: str, canonical: bytes) -> str:
    """Hash bytes that are canonical JSON already."""
    return hashlib.sha256(tag.encode() + b"\n" + canonical).hexdigest()


@dataclass(frozen=True, slots=True)
class CallShape:
    """Everything of a request but its messages and epoch: shared by all samples of an entrant."""

    provider: str
    """`openai`, `anthropic`, `openai_compatible`, `mock`, `replay`, `python` or `http`."""
    model: str
    """The model's name as the provider knows it."""
    params: Mapping[str, Json]
    """Parameters that the spec states, under gradetrail's names (`max_tokens`, `seed`, ...)."""
    revision: str | None = None
    endpoint: str | None = None
    """The user's name for a server; takes the place of base_url in the key."""
    base_url: str | None = None
    """Normalised, without credentials; None is the vendor's own."""
    api: str | None = None
    """`chat` or `responses` where a provider has more than one; None otherwise."""
    tools: Json = None
    tool_choice: Json = None
    response_format: Json = None
    betas: tuple[str, ...] = ()
    """Beta headers: they change the answer, so they are in the key."""
    source_digest: str | None = None
    """sha256 of the `python` source, the `replay` answers, or the `http` body template and reply path."""
    sees_sample: bool = False
    """True for providers that are given the sample itself, which then is in the key."""
    sees_prompt: bool = False
    """True for `replay`, which looks answers up by the prompt's name: the name then is in the key."""

    def identity(self, epoch: int) -> dict[str, Json]:
        """Collect what the key covers, but for messages and sample; absent things are left out."""
        place = {"endpoint": self.endpoint} if self.endpoint else {"base_url": self.base_url}
        fields: dict[str, Json] = {
            "api": self.api,
            "betas": sorted(self.betas) or None,
            "epoch": epoch,
            "model": self.model,
            "params": params_at(self.params, epoch),
            "provider": self.provider,
            "response_format": self.response_format,
            "revision": self.revision,
            "source_digest": self.source_digest,
            "tool_choice": self.tool_choice,
            "tools": self.tools,
            **place,
        }
        return {name: value for name, value in fields.items() if value is not None}


def params_at(params: Mapping[str, Json], epoch: int) -> dict[str, Json]:
    """Give the parameters of one epoch: `seed` is sent as seed + epoch - 1."""
    if epoch == 1 or "seed" not in params:
        return dict(params)
    return {**params, "seed": params["seed"] + epoch - 1}


@dataclass(frozen=True, slots=True)
class Request:
    """One exact call."""

    shape: CallShape
    messages: Sequence[Message]
    epoch: int
    key: str
    """The request_key."""
    sample_id: str
    sample: Mapping[str, Json] | None = None
    """The dataset row, for providers that see it (`python`, `replay`); None otherwise."""
    sample_hash: str = ""
    prompt: str = "default"
    """Name of the prompt, for `replay`, which looks answers up by it."""

    @property
    def params(self) -> dict[str, Json]:
        """Parameters as sent in this epoch."""
        return params_at(self.shape.params, self.epoch)


@lru_cache(maxsize=4096)
def _split(fields: bytes) -> tuple[bytes, bytes]:
    """Cut canonical JSON of the identity fields at the place where `messages` sorts in."""
    items = json.loads(fields)
    before = canonical_json({k: v for k, v in items.items() if k < "messages"})
    after = canonical_json({k: v for k, v in items.items() if k > "messages"})
    head = before[:-1] + (b"," if len(before) > 2 else b"")
    tail = (b"," if len(after) > 2 else b"") + after[1:]
    return head, tail


_SAMPLE_HASH, _SAMPLE_ID = "0" * 64, "\x00sample"
"""What stands in for a sample where the shared part of a request is encoded."""


class KeyMaker:
    """Makes request keys for one entrant; encodes the shared part once an epoch."""

    def __init__(self, shape: CallShape, prompt: str = "default") -> None:
        self.shape = shape
        self.prompt = prompt
        self._parts: dict[int, tuple[bytes, bytes]] = {}

    def _around(self, epoch: int, sample_hash: str, sample_id: str) -> tuple[bytes, bytes]:
        """Give the canonical request before and after its messages."""
        parts = self._parts.get(epoch)
        if parts is None:
            fields = self.shape.identity(epoch)
            if self.shape.sees_sample:
                fields |= {"sample_hash": _SAMPLE_HASH, "sample_id": _SAMPLE_ID}
            if self.shape.sees_prompt:
                fields["prompt"] = self.prompt
            parts = self._parts[epoch] = _split(canonical_json(fields))
        if not self.shape.sees_sample:
            return parts
        # both sort after `messages`, so that only the tail differs between samples
        own_id = json.encoder.encode_basestring(sample_id).encode()
        tail = parts[1].replace(_SAMPLE_HASH.encode(), sample_hash.encode(), 1)
        return parts[0], tail.replace(canonical_json(_SAMPLE_ID), own_id, 1)

    def canonical(self, messages: bytes, epoch: int, sample_hash: str, sample_id: str) -> bytes:
        """Give the canonical request; `messages` is canonical JSON already."""
        head, tail = self._around(epoch, sample_hash, sample_id)
        return head + b'"messages":' + messages + tail

    def without_messages(self, epoch: int, sample_hash: str = "", sample_id: str = "") -> bytes:
        """Give the canonical request without its messages: the stored `request` column."""
        head, tail = self._around(epoch, sample_hash, sample_id)
        if head == b"{":
            return b"{" + tail.removeprefix(b",")
        return head.removesuffix(b",") + (tail if tail.startswith(b",") else b"}")

    def key(self, messages: bytes, epoch: int, sample_hash: str = "", sample_id: str = "") -> str:
        """Give the request_key: 64 lower-case hex digits."""
        return hash_canonical(REQUEST_TAG, self.canonical(messages, epoch, sample_hash, sample_id))


def request_key(
    shape: CallShape, messages: Sequence[Message], epoch: int = 1, sample_hash: str = "", sample_id: str = ""
) -> str:
    """Give the identity of one exact call: 64 lower-case hex digits."""
    return KeyMaker(shape).key(canonical_messages(messages), epoch, sample_hash, sample_id)
