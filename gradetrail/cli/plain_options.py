"""Reads plain values of options without pydantic, which takes longer to import than a query to run.

Invariant: a value is taken here only where typer would give the same; every other one, and every message
about a value that does not fit, is typer's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin

from typer.core import TyperCommand, TyperGroup

from gradetrail.cli.suffixes import settle_format

_NOT_PLAIN = object()
VALUE_LEFT_OUT = {"--plot": "-"}
"""Options whose value may be left out, each with what that means."""
EVERYWHERE = ("--quiet", "--wide", "--debug")
"""Options of the program that may stand behind the command, too."""


class PlainCommand(TyperCommand):
    """A command whose parameters try the plain reading first."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words; `--plot` without a value is `--plot -`, and a suffix of `--output` is a format."""
        rest = super().parse_args(ctx, _with_values(args))
        if not ctx.resilient_parsing:
            settle_format(ctx)
        return rest

    def get_params(self, ctx: Any) -> Any:
        """List the parameters, that for help included."""
        return _read_plainly(super().get_params(ctx))


class PlainGroup(TyperGroup):
    """A group of commands whose own parameters do."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words before the command, and those that may stand anywhere."""
        end = args.index("--") if "--" in args else len(args)
        moved = [word for word in args[:end] if word in EVERYWHERE]
        rest = [word for word in args[:end] if word not in EVERYWHERE]
        return super().parse_args(ctx, [*moved, *rest, *args[end:]])

    def get_params(self, ctx: Any) -> Any:
        """List the parameters, that for help included."""
        return _read_plainly(super().get_params(ctx))


def _with_values(words: Sequence[str]) -> list[str]:
    """Put in what stands for a value that was left out."""
    found: list[str] = []
    for word, following in zip(words, [*words[1:], "--"], strict=False):
        is_bare = word in VALUE_LEFT_OUT and following.startswith("-") and following != "-"
        found += [word, VALUE_LEFT_OUT[word]] if is_bare else [word]
    return found


def _read_plainly(params: Sequence[Any]) -> Sequence[Any]:
    """Put the plain reading before typer's, which is made when it is first needed."""
    for param in params:
        if hasattr(param, "get_runtime_param") and hasattr(param, "type_descriptor"):
            param._runtime_param = _Plain(param)
    return params


class _Plain:
    """Stands in for typer's reading of one parameter until a value needs that."""

    def __init__(self, param: Any) -> None:
        self._annotation = param.type_descriptor.annotation
        self._info = param.type_descriptor.parameter_info

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Give the value as the command takes it; typer's BadParameter if it does not fit."""
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        if (
            not _is_special(self._info)
            and (found := _plain(value, self._annotation, self._info)) is not _NOT_PLAIN
        ):
            return found
        param._runtime_param = None
        return param.get_runtime_param().coerce(value, param=param, ctx=ctx)


def _is_special(info: Any) -> bool:
    """Say whether typer is to do more than read the value."""
    return any(
        getattr(info, name, None) for name in ("exists", "resolve_path", "allow_dash", "clamp", "parser")
    )


def _plain(value: Any, annotation: Any, info: Any) -> Any:
    """Read a value of a plain type; _NOT_PLAIN where that is for typer to say."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        kinds = [kind for kind in inner if kind is not type(None)]
        return _plain(value, kinds[0], info) if len(kinds) == 1 else _NOT_PLAIN
    if origin is list:
        if not isinstance(value, list | tuple):
            return _NOT_PLAIN
        items = [_plain(item, inner[0], info) for item in value]
        return _NOT_PLAIN if any(item is _NOT_PLAIN for item in items) else items
    if not isinstance(value, str):
        return _NOT_PLAIN
    if annotation is str:
        return value
    if annotation is Path:
        return Path(value)
    if annotation is int:
        return _number(value, info)
    return _member(value, annotation)


def _member(value: Any, annotation: Any) -> Any:
    """Find a choice by its exact value."""
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return next((member for member in annotation if value == member.value), _NOT_PLAIN)
    return _NOT_PLAIN


def _number(text: str, info: Any) -> Any:
    """Read digits within the bounds."""
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        return _NOT_PLAIN
    number = int(text)
    low, high = info.min, info.max
    return number if (low is None or number >= low) and (high is None or number <= high) else _NOT_PLAIN
