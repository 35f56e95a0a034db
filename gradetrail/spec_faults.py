"""Says what pydantic found wrong in a spec in the words of the spec: field, message, fix.

Invariant: each fault names a place that the user wrote (no scorer type or union member that pydantic
puts into its paths), and one mistake is one fault.
"""

from __future__ import annotations

import re
import types
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, Tag, ValidationError

from gradetrail.errors import Fault, did_you_mean
from gradetrail.scorer_spec import NAMED_RULES, ExtractRule, Scorer
from gradetrail.yaml_source import Place

SHORT_FORMS = {"prompts": "prompt", "models": "model", "scorers": "scorer"}
RULE_FORMS = ("regex", *NAMED_RULES)
"""Keys that stand for `rule` in an extraction rule."""
_MESSAGES = {
    "dict_type": "must be a mapping or its short form",
    "model_type": "must be a mapping or its short form",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "string_type": "must be text; put it into quotes",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "too_short": "must not be empty",
}


_EXAMPLES = {
    "must be a mapping": "`{key}: {{...}}`, with its keys indented below it",
    "must be a list": "`{key}: [...]`",
    "must be text": '`{key}: "..."`',
    "must be a whole number": "`{key}: 4`, without quotes",
    "must be a number": "`{key}: 0.5`, without quotes",
    "must be true or false": "`{key}: true`, without quotes",
    "must be greater": "write a greater number",
    "must be less": "write a smaller number",
    "must not be empty": "name at least one",
}
"""What to write, by how the message begins."""


def _fix(message: str, key: Place) -> str:
    """Say what to write in the place of a value that is not allowed; empty if the message says it."""
    example = next((text for start, text in _EXAMPLES.items() if message.startswith(start)), "")
    name = next((part for part in reversed(key) if isinstance(part, str)), "")
    text = example.format(key=name)
    if text and key in {(long,) for long in SHORT_FORMS}:
        text += f"; one alone is `{SHORT_FORMS[name]}: ...`"
    return f"write {text}" if text.startswith("`") else text


_LINE = re.compile(r"(.*):([0-9]+)", re.DOTALL)
"""A place that is a line of a file."""


def in_order(faults: Iterable[Fault]) -> list[Fault]:
    """Put faults in the order of their lines, file by file as first named; those without a line come last."""
    found = list(faults)
    places = [_LINE.fullmatch(fault.where) for fault in found]
    files = list(dict.fromkeys(place[1] for place in places if place is not None))

    def rank(number: int) -> tuple[int, int]:
        place = places[number]
        return (len(files), 0) if place is None else (files.index(place[1]), int(place[2]))

    return [found[number] for number in sorted(range(len(found)), key=rank)]


def scorer_types() -> list[str]:
    """List the types that a scorer can have."""
    return [extra.tag for kind in get_args(get_args(Scorer)[0]) for extra in kind.__metadata__]


def faults_of(error: ValidationError, root: type[BaseModel]) -> list[Fault]:
    """Give the faults of a block of the class `root`; where they stand is still to be filled in."""
    items = [(_walked(item["loc"], root), item) for item in error.errors(include_url=False)]
    unknown = {
        (place[:-1], _nearest(str(place[-1]), known))
        for (place, known), item in items
        if item["type"] == "extra_forbidden"
    }
    unknown |= {(block, "rule") for block, name in unknown if name in RULE_FORMS}
    unknown |= {((), long) for long, short in SHORT_FORMS.items() if ((), short) in unknown}
    places = [place for (place, _), _ in items]
    faults = [
        _fault(place, known, item)
        for (place, known), item in items
        # a key that is missing because it is misspelt is one mistake, as is a list emptied by bad items
        if not (item["type"] == "missing" and (place[:-1], place[-1]) in unknown)
        and not (item["type"] == "too_short" and any(_is_below(other, place) for other in places))
    ]
    # a value that fits none of several types is one mistake too: the first type is the usual one
    return list({fault.field: fault for fault in reversed(faults)}.values())[::-1]


def _is_below(place: Place, above: Place) -> bool:
    return len(place) > len(above) and place[: len(above)] == above


def _nearest(name: str, known: Sequence[str]) -> str:
    hint = did_you_mean(name, known)
    return hint.split("`")[1] if hint.startswith("did you mean") else ""


def _fault(place: Place, known: Sequence[str], item: Any) -> Fault:
    kind, given = item["type"], item.get("input")
    field = ".".join(str(part) for part in place)
    if kind == "extra_forbidden":
        return Fault(f"unknown key `{place[-1]}`", field=field, fix=did_you_mean(str(place[-1]), known))
    if kind == "missing":
        name = SHORT_FORMS.get(str(place[-1]), str(place[-1])) if len(place) == 1 else place[-1]
        return Fault(f"`{place[-1]}` is missing", field=field, fix=f"add `{name}:`")
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        tags = [tag.strip(" '") for tag in item["ctx"].get("expected_tags", "").split(",") if tag]
        tag = item["ctx"].get("tag")
        message = f"unknown scorer type `{tag}`" if tag is not None else "a scorer needs a `type`"
        return Fault(message, field=field, fix=did_you_mean(str(tag), tags or scorer_types()))
    if kind == "literal_error":
        allowed = [name.strip(" '") for name in item["ctx"]["expected"].replace(" or ", ", ").split(",")]
        return Fault(f"`{given}` is not allowed", field=field, fix=did_you_mean(str(given), allowed))
    message = _MESSAGES.get(kind, item["msg"].removeprefix("Value error, ").replace("Input should", "must"))
    is_shown = kind != "value_error" and not isinstance(given, dict | list | tuple)
    return Fault(
        f"{message}{f' (given: {given!r})' if is_shown else ''}", field=field, fix=_fix(message, place)
    )


def _walked(location: Sequence[str | int], root: type[BaseModel]) -> tuple[Place, list[str]]:
    """Follow pydantic's path through the types; give it as the user wrote it, and the last block's keys."""
    place: list[str | int] = []
    kind: Any = root
    known: list[str] = _keys(root)
    for part in location:
        kind = _unwrapped(kind)
        origin = get_origin(kind)
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            known = _keys(kind)
            place.append(part)
            kind = next((f.annotation for n, f in kind.model_fields.items() if part in (n, f.alias)), None)
        elif origin in (Union, types.UnionType):
            kind = next((member for member in get_args(kind) if part in _labels(member)), kind)
        elif origin in (dict, tuple, list) and not str(part).startswith(("[key]", "function-")):
            place.append(part)
            kind = get_args(kind)[1 if origin is dict else 0]
    kind = _unwrapped(kind)
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        known = _keys(kind)
    return tuple(place), known


def _unwrapped(kind: Any) -> Any:
    """Take annotations and an optional None off a type."""
    while True:
        if get_origin(kind) is Annotated:
            kind = get_args(kind)[0]
        elif get_origin(kind) in (Union, types.UnionType) and type(None) in get_args(kind):
            members = [member for member in get_args(kind) if member is not type(None)]
            kind = members[0] if len(members) == 1 else Union[tuple(members)]  # noqa: UP007 - made at run time
        else:
            return kind


def _labels(member: Any) -> list[str]:
    """Give the names under which pydantic may list a member of a union in a path."""
    tags = [extra.tag for extra in getattr(member, "__metadata__", ()) if isinstance(extra, Tag)]
    plain = _unwrapped(member)
    return [*tags, getattr(plain, "__name__", ""), str(plain)]


def _keys(block: type[BaseModel]) -> list[str]:
    own = [info.alias or name for name, info in block.model_fields.items()]
    if block is ExtractRule:
        return [*own, *RULE_FORMS]
    return [*own, *(short for long, short in SHORT_FORMS.items() if long in own)]
