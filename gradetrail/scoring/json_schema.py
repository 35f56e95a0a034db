"""Validates the JSON in an answer by a JSON Schema.

Invariant: nothing is fetched; a schema that cannot be used is found before anything is graded, and an
answer on which it cannot be used is no wrong answer. Runs in a worker, since a `pattern` may take for ever.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gradetrail.scorer_spec import JsonSchema
from gradetrail.scoring.definition import Definition
from gradetrail.scoring.json_value import ABSENT, encoded_json, last_value
from gradetrail.scoring.rule import Given, Rule, Verdict
from gradetrail.scoring.rule_process import Judgement
from gradetrail.scoring.worker import Failure

FAULTS_SHOWN = 3
SHOWN = 150
"""Characters of one message."""


def schema_of(definition: Definition) -> Any:
    """Give the schema that a definition names or holds; ValueError if its file is absent or no JSON."""
    scorer = definition.scorer
    assert isinstance(scorer, JsonSchema)
    if not isinstance(scorer.schema_, str):
        return scorer.schema_
    data = dict(definition.files).get("schema_")
    if data is None:
        raise ValueError(f"no file `{scorer.schema_}`")
    try:
        return json.loads(data)
    except json.JSONDecodeError as error:
        raise ValueError(f"{scorer.schema_}:{error.lineno} is no JSON: {error.msg}") from None
    except ValueError as error:
        raise ValueError(f"{scorer.schema_} is no JSON: {error}") from None


def validator_of(schema: Any) -> Any:
    """Make a validator that fetches nothing; ValueError says where the schema itself is wrong."""
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import Draft202012Validator, validator_for
    from referencing import Registry, Resource
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    kind = validator_for(schema, default=Draft202012Validator)
    try:
        kind.check_schema(schema)
    except SchemaError as error:
        raise ValueError(f"no JSON Schema: {error.json_path}: {error.message}"[:300]) from None
    objects = [part for part in _parts(schema) if isinstance(part, dict)]
    if not any("$id" in part for part in objects if part is not schema):
        resource = Resource.from_contents(schema, default_specification=DRAFT202012)
        resolver = Registry[Any]().resolver_with_root(resource)
        for name in (part["$ref"] for part in objects if isinstance(part.get("$ref"), str)):
            try:
                resolver.lookup(name)
            except Unresolvable:
                raise ValueError(f"`$ref: {name}` leads nowhere in the schema") from None
    return kind(schema, registry=Registry())


def _parts(value: Any) -> Iterator[Any]:
    todo = [value]
    while todo:
        here = todo.pop()
        yield here
        if isinstance(here, dict):
            todo += here.values()
        elif isinstance(here, list):
            todo += here


def json_schema_rule(definition: Definition) -> Rule:
    """Give the rule of `json_schema`."""
    scorer = definition.scorer
    assert isinstance(scorer, JsonSchema)
    judgement = Judgement(__name__, {"schema": schema_of(definition)}, scorer.timeout_s)

    def judge(batch: Sequence[Given]) -> list[Verdict]:
        found = [last_value(given.text, scorer.path) for given in batch]
        todo = [place for place, value in enumerate(found) if value is not ABSENT]
        where = f" with a value at `{scorer.path}`" if scorer.path else ""
        verdicts = [Verdict(None, detail=f"no JSON value{where}") for _ in batch]
        texts = [encoded_json(found[place]) for place in todo]
        for place, text, reply in zip(todo, texts, judgement.replies(texts), strict=True):
            if isinstance(reply, Failure):
                verdicts[place] = Verdict(None, text, "json", fault=f"validation failed: {reply.reason}")
            else:
                verdicts[place] = Verdict(float(not reply), text, "json", "; ".join(reply) or None)
        return verdicts

    return Rule(judge)


def judge_of(options: dict[str, Any]) -> Callable[[str], list[str]]:
    """Give the function that lists where a JSON text is not valid; for the worker."""
    validator = validator_of(options["schema"])

    def judge(text: str) -> list[str]:
        value = json.loads(text, parse_int=_number, parse_float=_number)
        faults = sorted(validator.iter_errors(value), key=lambda fault: fault.json_path)
        shown = [f"{fault.json_path}: {fault.message}" for fault in faults]
        more = [f"and {len(shown) - FAULTS_SHOWN} more"] if len(shown) > FAULTS_SHOWN else []
        return [
            text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…" for text in shown[:FAULTS_SHOWN]
        ] + more

    return judge


def _number(text: str) -> int | float:
    """Read a number; one with more digits than Python converts is taken as a float."""
    try:
        return int(text)
    except ValueError:
        return float(text)
