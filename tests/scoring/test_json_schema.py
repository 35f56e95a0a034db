"""JSON is validated by a schema that is known to be one before anything is asked."""

from pathlib import Path
from typing import Any

import pytest

from gradetrail.errors import Fault
from gradetrail.scoring.definition import definitions
from gradetrail.scoring.grade import check, grade
from gradetrail.spec import load_spec
from tests.scoring.grading import answer, connection, definition, graded, graded_one, grades_of

PERSON = {
    "type": "object",
    "required": ["name", "age"],
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
    "additionalProperties": False,
}


def scorer(schema: Any, **options: Any) -> dict[str, Any]:
    return {"type": "json_schema", "schema": schema, **options}


def test_a_valid_answer_is_right_and_the_place_of_each_fault_is_named() -> None:
    texts = [
        'Sure: {"name": "Ann", "age": 3}',
        '{"name": 1, "age": -1, "x": 0}',
        "no",
        '{"name": "Ann"',
        "{}",
    ]
    results = graded(scorer(PERSON), [answer(text) for text in texts], target=None)
    assert [(one.score, one.outcome) for one in results] == [
        (1, "scored"), (0, "scored"), (None, "unparsed"), (None, "unparsed"), (0, "scored"),
    ]  # fmt: skip
    assert results[0].extracted == '{"name":"Ann","age":3}'
    assert results[1].detail == (
        "$: Additional properties are not allowed ('x' was unexpected); "
        "$.age: -1 is less than the minimum of 0; $.name: 1 is not of type 'string'"
    )


def test_the_target_does_not_matter() -> None:
    assert graded_one(scorer(PERSON), '{"name": "Ann", "age": 3}', None).score == 1
    assert graded_one(scorer({"type": "integer"}), "12345678901234567890", "x").score == 1
    assert graded_one(scorer({"type": "integer"}), "1" * 5000, "x").outcome == "scored"


def test_a_path_leads_to_the_part_that_counts() -> None:
    assert graded_one(scorer({"type": "integer"}, path="a.0"), '{"a": [1, "x"]}', "x").score == 1


def test_references_lead_inside_the_schema() -> None:
    schema = {
        "$defs": {"id": {"type": "string", "minLength": 2}},
        "type": "array",
        "items": {"$ref": "#/$defs/id"},
    }
    assert [graded_one(scorer(schema), text, "x").score for text in ('["ab"]', '["a"]')] == [1, 0]


def test_an_answer_on_which_a_pattern_runs_for_ever_fails_alone() -> None:
    schema = {"type": "array", "items": {"type": "string", "pattern": "^(a+)+$"}}
    rows = [answer('["aaa"]'), answer(f'["{"a" * 60}b"]'), answer('["b"]')]
    results = graded(scorer(schema, timeout_s=0.2), rows, target=None)
    assert [(one.score, one.outcome) for one in results] == [
        (1, "scored"),
        (None, "scorer_error"),
        (0, "scored"),
    ]
    assert results[1].detail == "validation failed: took more than 0.2 s"


def faults(schema: Any) -> list[Fault]:
    return check(definition(scorer(schema), target=None), "spec.yaml:3")


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"type": "strin"}, "$.type: 'strin' is not valid"),
        ({"properties": 3}, "$.properties: 3 is not of type 'object'"),
        ({"items": {"$ref": "#/$defs/none"}}, "`$ref: #/$defs/none` leads nowhere"),
        ({"$ref": "http://127.0.0.1:9/schema.json"}, "leads nowhere in the schema"),
        ("absent.json", "no file `absent.json`"),
    ],
)
def test_a_schema_that_is_none_is_found_before_any_call(schema: Any, message: str) -> None:
    (fault,) = faults(schema)
    assert message in fault.message
    assert (fault.where, fault.field) == ("spec.yaml:3", "scorers.s.schema")


def spec_file(folder: Path, schema: str, name: str = "person.json") -> Path:
    (folder / name).write_text(schema, encoding="utf-8")
    path = folder / "spec.yaml"
    path.write_text(
        "name: t\ndataset: d.jsonl\nprompt: '{{ q }}'\nmodel: mock/m\n"
        f"scorer: {{type: json_schema, schema: {name}}}\n"
    )
    return path


def test_a_schema_file_is_read_and_its_content_is_the_identity(tmp_path: Path) -> None:
    (first,) = definitions(load_spec(spec_file(tmp_path, '{"type": "object"}')))
    (same,) = definitions(load_spec(spec_file(tmp_path, '{"type": "object"}', "other.json")))
    (other,) = definitions(load_spec(spec_file(tmp_path, '{"type": "array"}')))
    assert check(first, "") == []
    assert same.scorer_id() == first.scorer_id() != other.scorer_id()
    con = connection([answer("{}"), answer("[]")])
    grade(con, first)
    assert [one.score for one in grades_of(con)] == [1, 0]


def test_a_file_that_is_no_json_is_named_with_its_line(tmp_path: Path) -> None:
    (broken,) = definitions(load_spec(spec_file(tmp_path, '{\n "type": }')))
    (fault,) = check(broken, "spec.yaml:5")
    assert "person.json:2 is no JSON" in fault.message


def test_a_case_of_a_switch_reads_its_own_file(tmp_path: Path) -> None:
    path = spec_file(tmp_path, '{"type": "object"}')
    path.write_text(
        "name: t\ndataset: d.jsonl\nprompt: '{{ q }}'\nmodel: mock/m\n"
        "scorer: {type: switch, on: '{{ kind }}', cases: {a: {type: json_schema, schema: person.json}}}\n"
    )
    (switch,) = definitions(load_spec(path))
    assert check(switch, "") == []
    con = connection([answer("{}", switch="a"), answer("[]", switch="a")])
    grade(con, switch)
    assert [one.score for one in grades_of(con)] == [1, 0]
    (tmp_path / "person.json").write_text('{"type": "array"}')
    assert definitions(load_spec(path))[0].scorer_id() != switch.scorer_id()
