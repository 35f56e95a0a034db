import json
from pathlib import Path

import jsonschema
import pytest

from gradetrail.errors import SpecError
from gradetrail.spec import spec_from

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "docs/reference/spec.schema.json").read_text(encoding="utf-8"))
SHORT = {
    "name": "t",
    "dataset": "d.jsonl",
    "prompt": "{{ question }}",
    "model": "openai/m",
    "scorer": "numeric",
}
FORMS = {
    "short": {},
    "older model": {"model": {"provider": "openai", "name": "m", "params": {"temperature": 1}}},
    "older exact": {"scorer": {"type": "exact", "target_field": "answer"}},
    "older regex": {
        "scorer": {"type": "regex", "pattern": r"Answer:\s*{{ answer }}", "flags": ["IGNORECASE"]}
    },
    "older id": {"dataset": {"path": "d.jsonl", "id_field": "key"}},
    "system and user": {"prompt": {"system": "Be brief.", "user": "{{ question }}"}},
    "messages": {"prompt": [{"system": "Be brief."}, {"user": "{{ question }}"}]},
    "one regex": {"extract": r"A:\s*(.+)"},
    "a chain": {
        "extract": [{"regex": "A: (.+)", "which": "first"}, "boxed", {"json": "answer.value"}, "number"]
    },
    "own extraction": {"scorer": {"type": "choice", "extract": ["letter"]}},
    "few shots": {"few_shot": "dev.jsonl"},
    "confidence": {"confidence": r"Confidence:\s*(\d+)"},
    "fields as a list": {"scorer": {"type": "json_match", "fields": ["a", "b.c"]}},
    "fields with rules": {"scorer": {"type": "json_match", "fields": {"a": None, "b.c": {"abs_tol": 1}}}},
    "a schema file": {"scorer": {"type": "json_schema", "schema": "answer.schema.json"}},
    "a schema itself": {"scorer": {"type": "json_schema", "schema": {"type": "object"}}},
    "tool calls": {"scorer": {"type": "tool_calls", "order": "strict"}},
    "switch": {
        "scorer": {"type": "switch", "on": "{{ kind }}", "cases": {"a": "exact", "b": {"type": "numeric"}}}
    },
}
WRONG = {
    "a typo in a key": {"targte": "x"},
    "a typo in a block": {"request": {"temprature": 0}},
    "both prompt and prompts": {"prompts": {"a": "x"}},
    "an unknown scorer": {"scorer": "nummeric"},
    "a schema that is missing": {"scorer": {"type": "json_schema"}},
    "a typo in a field's rule": {"scorer": {"type": "json_match", "fields": {"a": {"tolerance": 1}}}},
    "a negative limit": {"dataset": {"path": "d.jsonl", "limit": -1}},
}


def faults(value: object) -> list[str]:
    return [error.message for error in jsonschema.Draft202012Validator(SCHEMA).iter_errors(value)]


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("form", FORMS)
def test_an_editor_accepts_every_form_that_loads(form: str) -> None:
    value = SHORT | FORMS[form]
    spec_from(value)
    assert faults(value) == []


@pytest.mark.parametrize("form", WRONG)
def test_an_editor_marks_what_does_not_load(form: str) -> None:
    value = SHORT | WRONG[form]
    with pytest.raises(SpecError):
        spec_from(value)
    assert faults(value)
