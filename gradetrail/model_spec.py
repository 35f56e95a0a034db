"""A model as a spec names it: who is asked, where, and with what parameters.

Invariant: what is stated here is sent, and only that; keys and header values are named, never held.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

NAME = re.compile(r"(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9_.-]{0,99}\Z")
"""What names of specs, prompts, scorers and tags look like: they become parts of file names."""


class Block(BaseModel):
    """A frozen block of a spec; unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=False, coerce_numbers_to_str=False)


def _checked_name(value: Any) -> Any:
    if isinstance(value, str) and not NAME.match(value):
        rule = "ASCII letters, digits, `_`, `.`, `-`, no `..`, at most 100"
        raise ValueError(f"`{value}` is not a name: {rule}")
    return value


Name = Annotated[str, BeforeValidator(_checked_name)]


class RequestParams(Block):
    """What is sent besides the messages; only what is stated here is sent."""

    max_tokens: int | None = Field(default=None, gt=0)
    temperature: float | None = Field(default=None, ge=0)
    top_p: float | None = Field(default=None, ge=0, le=1)
    top_k: int | None = Field(default=None, gt=0)
    seed: int | None = None
    stop: tuple[str, ...] | str | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = Field(default=None, ge=0)
    reasoning: str | int | None = None
    """Effort (`low`, `medium`, `high`, ...) or a budget in tokens."""
    tools: Any = None
    """JSON file or list of tool definitions."""
    tool_choice: Any = None
    response_format: Any = None
    """JSON file or mapping."""
    system: str | None = None
    """System message for prompts that have none."""
    betas: tuple[str, ...] = ()
    """Beta headers (Anthropic)."""
    extra: dict[str, Any] | None = None
    """Further fields of the request's body, as the provider names them."""
    keep_raw: bool = False
    """Store the reply's body."""
    stream: bool | None = None
    """Have replies streamed, which also tells `ttft_ms`; default: where the API needs it. In no identity."""


PARAMETERS = (
    "max_tokens", "temperature", "top_p", "top_k", "seed", "stop", "presence_penalty",
    "frequency_penalty", "logprobs", "top_logprobs", "reasoning", "extra",
)  # fmt: skip
"""Fields of RequestParams that go into a request's `params`."""


class Model(RequestParams):
    """One model with its own parameters, over those of `request`."""

    model: str
    """`provider/name`."""
    as_: str | None = Field(default=None, alias="as")
    """Display name; default: `model`."""
    base_url: str | None = None
    """May hold `${NAME}`, read from the environment and stored unexpanded; then `endpoint` is required."""
    endpoint: Name | None = None
    """Name of the server for identities, in place of base_url."""
    revision: str | None = None
    api: Literal["chat", "responses"] | None = None
    api_key_env: str | None = None
    """Environment variable that holds the key; default: the provider's own."""
    headers: dict[str, str] = {}
    """Further headers; values may hold `${NAME}` and are never stored."""
    answers: str | None = None
    """replay: file of recorded answers."""
    field: str | None = None
    """replay: dotted path of the answer inside the sample."""
    path: str | None = None
    """python: source file."""
    class_: str = Field(default="Adapter", alias="class")
    """python: class in that file."""
    body: Any = None
    """http: body template; `{{ prompt }}`, `{{ messages }}`, `{{ model }}` and parameters."""
    reply: str | None = None
    """http: dotted path of the answer in the reply, such as `choices.0.text`."""
    method: Literal["POST", "GET", "PUT"] = "POST"

    @property
    def provider(self) -> str:
        """The part before the first slash."""
        return self.model.partition("/")[0]

    @property
    def name(self) -> str:
        """The part after the first slash: the provider's name for the model."""
        return self.model.partition("/")[2]

    @property
    def display(self) -> str:
        """Name on boards."""
        return self.as_ or self.model


_REFERENCE = re.compile(r"(?:[A-Za-z]+ )?\$\{\w+\}")
"""A header value that holds no secret itself: `${NAME}`, `Bearer ${NAME}`."""


def hide_headers(model: dict[str, Any]) -> None:
    """Take header values out of a model that is to be stored, but for `${NAME}` and beta headers.

    A value that stood in the spec becomes `${GRADETRAIL_HEADER_...}`, which must be set to ask the model
    without the spec.
    """
    headers = model.get("headers", {})
    for name, value in headers.items():
        if not name.lower().endswith("-beta") and not _REFERENCE.fullmatch(value):
            variable = re.sub(r"\W", "_", name).upper()
            headers[name] = f"${{GRADETRAIL_HEADER_{variable}}}"


def expand_model(value: Any) -> Any:
    """Turn `provider/name` and the older `{provider, name, params}` into the full form."""
    if isinstance(value, str):
        return {"model": value}
    if isinstance(value, dict) and "provider" in value and "name" in value and "model" not in value:
        rest = {key: item for key, item in value.items() if key not in ("provider", "name", "params")}
        params = value.get("params")
        own = dict(params) if isinstance(params, dict) else {}
        # the older form sent max_tokens 1024 and temperature 0 unless told otherwise
        own = {"max_tokens": 1024, "temperature": 0, **own}
        return {"model": f"{value['provider']}/{value['name']}", **own, **rest}
    return value
