"""One call through a real provider, for tests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from gradetrail.errors import ProviderError
from gradetrail.providers import call_shape, check_model, open_provider
from gradetrail.providers.response import Response
from gradetrail.request import Request, request_key
from gradetrail.spec import Spec, spec_from
from tests.servers import FakeApi

ASKED = [{"role": "user", "content": "What is 2 + 2?"}]


def spec_of(model: str | dict[str, Any], base: Path = Path(), **request: Any) -> Spec:
    """Make a spec of one model."""
    raw = {"name": "task", "dataset": "data.jsonl", "prompt": "{{ q }}", "target": "x", "scorer": "exact"}
    return spec_from({**raw, "model": model, "request": request}, base=base)


def faults_of(model: str | dict[str, Any], base: Path = Path(), **request: Any) -> list[str]:
    """Check a model; give `field: message` of each fault."""
    spec = spec_of(model, base, **request)
    return [f"{fault.field}: {fault.message}" for fault in check_model(spec, spec.models[0], "models.0")]


@dataclass
class Asked:
    """What one call is made of."""

    messages: Sequence[dict[str, Any]] = field(default_factory=lambda: ASKED)
    epoch: int = 1
    sample_id: str = "s1"
    sample: dict[str, Any] | None = None
    prompt: str = "default"


def request_for(spec: Spec, asked: Asked = Asked()) -> Request:
    """Make the request."""
    shape = call_shape(spec, spec.models[0])
    key = request_key(shape, asked.messages, asked.epoch)
    return Request(shape, asked.messages, asked.epoch, key, asked.sample_id, asked.sample, "", asked.prompt)


def call(spec: Spec, asked: Asked = Asked(), timeout_s: float = 20) -> Response:
    """Ask once, and close."""

    async def once() -> Response:
        request = request_for(spec, asked)
        provider = open_provider(spec, spec.models[0], request.shape, concurrency=2, timeout_s=timeout_s)
        try:
            return await provider.complete(request, timeout_s)
        finally:
            await provider.close()

    return asyncio.run(once())


def failure(spec: Spec, asked: Asked = Asked(), timeout_s: float = 20) -> ProviderError:
    """Ask once, and give the error that comes of it."""
    with pytest.raises(ProviderError) as caught:
        call(spec, asked, timeout_s)
    return caught.value


def openai_spec(api: FakeApi) -> Spec:
    return spec_of({"model": "openai/m", "base_url": api.v1})


def compatible_spec(api: FakeApi) -> Spec:
    return spec_of({"model": "openai_compatible/m", "base_url": api.v1})


def anthropic_spec(api: FakeApi) -> Spec:
    return spec_of({"model": "anthropic/m", "base_url": api.url}, max_tokens=9)


SpecAt = Callable[[FakeApi], Spec]
CHAT = pytest.mark.parametrize("spec_at", [openai_spec, compatible_spec])
"""Runs a test through both providers that speak chat completions."""
EVERY = pytest.mark.parametrize("spec_at", [openai_spec, compatible_spec, anthropic_spec])
"""Runs a test through all providers that call a server of a known kind."""
