"""The only code that calls an API: one `complete(request)` -> Response for each provider.

Invariant: a failed call raises ProviderError and nothing else; what a provider is asked follows
from the request alone, and what it needs besides (keys, headers) never leaves it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from gradetrail.errors import Fault
    from gradetrail.providers.response import Response
    from gradetrail.request import CallShape, Request
    from gradetrail.spec import Model, Spec

__all__ = ["Provider", "call_shape", "check_model", "open_provider"]


class Provider(Protocol):
    """Answers requests of one model."""

    async def complete(self, request: Request, timeout_s: float) -> Response:
        """Ask once, within a limit that covers the whole call; ProviderError if there is no answer."""
        ...

    async def close(self) -> None:
        """Let connections go."""
        ...


def call_shape(spec: Spec, model: Model) -> CallShape:
    """Give everything of a request's identity but its messages and epoch; see `providers.shape`."""
    from gradetrail.providers.shape import call_shape as shape

    return shape(spec, model)


def check_model(spec: Spec, model: Model, place: str) -> list[Fault]:
    """List what is wrong with a model, without calling it; `place` is such as `models.0`."""
    from gradetrail.providers.check import check_model as check

    return check(spec, model, place)


def open_provider(
    spec: Spec, model: Model, shape: CallShape, *, concurrency: int, timeout_s: float
) -> Provider:
    """Make the provider of a model, with room for `concurrency` calls in flight.

    `timeout_s` bounds the time to reach a server. SpecError for a missing key or file.
    """
    if model.provider == "mock":
        from gradetrail.providers.mock import Mock

        return Mock(model)
    if model.provider == "replay":
        from gradetrail.providers.replay import Replay

        return Replay(spec, model)
    if model.provider == "python":
        from gradetrail.providers.python import Python

        return Python(spec, model)
    from gradetrail.providers.endpoint import Limits, open_endpoint

    keep_raw = bool(spec.option(model, "keep_raw"))
    endpoint = open_endpoint(model, keep_raw=keep_raw, stream=spec.option(model, "stream"))
    limits = Limits(concurrency, timeout_s)
    if model.provider == "openai":
        from gradetrail.providers.openai import OpenAI

        return OpenAI(shape, endpoint, limits)
    if model.provider == "anthropic":
        from gradetrail.providers.anthropic import Anthropic

        return Anthropic(shape, endpoint, limits)
    if model.provider == "http":
        from gradetrail.providers.http import Http

        return Http(model, endpoint, limits)
    from gradetrail.providers.openai_compatible import OpenAICompatible

    return OpenAICompatible(shape, endpoint, limits)
