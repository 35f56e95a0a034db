"""A spec loads in every form, and every fault names its place and the fix."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from gradetrail.errors import SpecError
from gradetrail.spec import Spec, load_spec, spec_from
from gradetrail.yaml_source import read_source

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
SPECS = ROOT / "specs"
SCHEMA = json.loads((ROOT / "docs/reference/spec.schema.json").read_text())
SHORT = {
    "name": "t",
    "dataset": "d.jsonl",
    "prompt": "{{ q }}",
    "target": "{{ a }}",
    "scorer": "exact",
    "model": "mock/noisy",
}


def written(folder: Path, text: str) -> Path:
    path = folder / "spec.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def faults_of(folder: Path, text: str) -> list[Any]:
    with pytest.raises(SpecError) as caught:
        load_spec(written(folder, text))
    return list(caught.value.faults)


GOOD = """\
name: gsm8k
dataset: data.jsonl
prompt: "{{ question }}"
target: "{{ answer }}"
scorer: numeric
model: openai/gpt-5.1-mini
"""


def test_the_short_form_is_the_long_form_written_short(tmp_path: Path) -> None:
    long = spec_from(
        {
            "name": "gsm8k",
            "dataset": {"path": "data.jsonl"},
            "prompts": {"default": {"messages": [{"user": "{{ question }}"}]}},
            "target": "{{ answer }}",
            "scorers": {"numeric": {"type": "numeric"}},
            "models": [{"model": "openai/gpt-5.1-mini"}],
        }
    )
    assert load_spec(written(tmp_path, GOOD)).model_dump() == long.model_dump()


def test_the_older_form_loads_unchanged() -> None:
    spec = spec_from(
        {
            "name": "old",
            "description": "from the older format",
            "dataset": {"path": "d.jsonl", "id_field": "qid"},
            "prompt": "{{ question }}",
            "model": {
                "provider": "openai_compatible",
                "name": "llama",
                "base_url": "http://127.0.0.1:1/v1",
                "params": {"temperature": 0.5, "system": "Be brief."},
            },
            "scorer": {"type": "regex", "pattern": r"Answer:\s*{{ answer }}\s*$", "flags": ["MULTILINE"]},
            "run": {"concurrency": 8, "max_retries": 5, "timeout_s": 120},
        }
    )
    model = spec.models[0]
    assert (spec.dataset.id, model.provider, model.name) == ("qid", "openai_compatible", "llama")
    assert spec.params(model) == {"max_tokens": 1024, "temperature": 0.5}
    assert spec.option(model, "system") == "Be brief."
    exact = spec_from(
        {**SHORT, "scorer": {"type": "exact", "target_field": "answer", "normalize": ["strip", "lower"]}}
    )
    scorer: Any = exact.scorers["exact"]
    assert (scorer.target, scorer.normalize) == ("{{ answer }}", ("strip", "lower"))


def test_the_older_exact_scorer_compares_bytes_where_nothing_is_said() -> None:
    scorer: Any = spec_from({**SHORT, "scorer": {"type": "exact", "target_field": "a"}}).scorers["exact"]
    assert scorer.normalize == ()


def test_a_misspelt_key_names_line_and_nearest_known_key(tmp_path: Path) -> None:
    (fault,) = faults_of(tmp_path, GOOD.replace("target:", "targt:"))
    assert fault.where.endswith("spec.yaml:4") and "`targt`" in fault.message and "`target`" in fault.fix


def test_nested_misspelt_keys_are_named_too(tmp_path: Path) -> None:
    faults = faults_of(
        tmp_path,
        GOOD.replace("scorer: numeric", "scorers:\n  s: {type: numeric, abs_tool: 1}")
        + "request: {max_tokns: 3}\n",
    )
    assert {(f.where.rpartition(":")[2], f.field) for f in faults} == {
        ("6", "scorers.s.abs_tool"),
        ("8", "request.max_tokns"),
    }
    assert all("did you mean" in f.fix for f in faults)


def test_a_misindented_scorer_and_a_repeated_key_are_refused() -> None:
    with pytest.raises(SpecError) as caught:
        load_spec(HERE / "misindent.yaml")
    assert "`prompt` stands twice (first on line 3)" in str(caught.value)
    assert "misindent.yaml:8" in str(caught.value)


def test_without_the_repeated_key_the_stray_ones_are_named(tmp_path: Path) -> None:
    text = (HERE / "misindent.yaml").read_text().replace('prompt: "{{ question }} again"\n', "")
    messages = [str(fault) for fault in faults_of(tmp_path, text)]
    assert any("unknown key `vars`" in m for m in messages)
    assert any("unknown key `scorrer`" in m and "`scorer`" in m for m in messages)
    assert not any("`scorers` is missing" in m for m in messages)


def test_all_faults_come_together(tmp_path: Path) -> None:
    fields = [
        f.field
        for f in faults_of(tmp_path, GOOD.replace("name: gsm8k", "name: ../x") + "epochs: 0\nfoo: 1\n")
    ]
    assert set(fields) == {"name", "epochs", "foo"}


@pytest.mark.parametrize("name", ["../../escape", "a/b", "a|b|0", "", ".hidden", "a..b", "x" * 101, "na me"])
def test_names_that_could_leave_the_folder_are_refused(name: str) -> None:
    with pytest.raises(SpecError):
        spec_from({**SHORT, "name": name})


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("gpt-5.1-mini", "provider/name"),
        ("opnai/gpt-5.1-mini", "provider/name"),
        ("anthropic/claude-haiku-4-5", "max_tokens"),
        ("openai_compatible/llama", "base_url"),
        ({"model": "openai_compatible/llama", "base_url": "${URL}/v1"}, "endpoint: NAME"),
        ("replay/x", "answers"),
        ("python/x", "path"),
        ({"model": "openai/x", "extra": {"n": 3}}, "epochs"),
    ],
)
def test_a_model_that_cannot_be_asked_says_why(model: Any, words: str) -> None:
    with pytest.raises(SpecError) as caught:
        spec_from({**SHORT, "model": model})
    assert words in str(caught.value)


def test_two_models_of_one_name_are_refused() -> None:
    with pytest.raises(SpecError, match="stands twice"):
        spec_from({k: v for k, v in SHORT.items() if k != "model"} | {"models": ["mock/noisy", "mock/noisy"]})


def test_unknown_scorer_types_list_the_known_ones() -> None:
    with pytest.raises(SpecError, match=r"did you mean `numeric`\?"):
        spec_from({**SHORT, "scorer": "numerics"})


def test_a_spec_without_a_scorer_does_not_load() -> None:
    with pytest.raises(SpecError, match="`scorers` is missing"):
        spec_from({k: v for k, v in SHORT.items() if k != "scorer"})
    with pytest.raises(SpecError):
        spec_from({k: v for k, v in SHORT.items() if k != "scorer"} | {"scorers": {}})


def test_yaml_words_stay_text() -> None:
    from gradetrail.yaml_source import Source

    value = Source(
        Path("x"), "a: no\nb: on\nc: 012\nd: 2024-01-05\ne: 1e3\nf: true\ng: 0x1F\nh: '5'\ni: 1_000\n"
    ).value
    assert value == dict(a="no", b="on", c=12, d="2024-01-05", e=1000.0, f=True, g="0x1F", h="5", i="1_000")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name: [", "not valid YAML"),
        ("- a\n- b\n", "mapping"),
        ("", "mapping"),
        ("name: a\n\tb: 1\n", "not valid YAML"),
        ("name: \x00\n", "not valid YAML"),
        (
            "name: a\nprompt: {{ question }}\n",
            r"yaml:2: a key must be plain text\n    fix: put a template in quotes",
        ),
    ],
)
def test_what_is_no_spec_says_so_with_a_line(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        load_spec(written(tmp_path, text))


def test_a_missing_spec_and_a_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="no such file"):
        load_spec(tmp_path / "none.yaml")
    with pytest.raises(SpecError, match="is a folder"):
        load_spec(tmp_path)


def test_parameters_of_a_model_go_over_those_of_the_request() -> None:
    spec = spec_from(
        {
            **SHORT,
            "request": {"max_tokens": 10, "temperature": 0, "stop": "\n"},
            "model": {"model": "openai/x", "max_tokens": 20, "seed": 1},
        }
    )
    assert spec.params(spec.models[0]) == {"max_tokens": 20, "temperature": 0, "seed": 1, "stop": ["\n"]}


def test_what_is_not_said_is_not_sent() -> None:
    spec = spec_from(SHORT)
    assert spec.params(spec.models[0]) == {}


def test_a_loaded_spec_cannot_be_changed() -> None:
    spec: Any = spec_from(SHORT)
    with pytest.raises(Exception, match="frozen"):
        spec.epochs = 2


SHIPPED = [path for path in sorted(SPECS.glob("**/*.yaml")) if "kind" not in read_source(path).value]
"""Specs; the others are judge files."""


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_every_shipped_spec_loads_and_fits_the_json_schema(path: Path) -> None:
    assert isinstance(load_spec(path), Spec)
    jsonschema.validate(read_source(path).value, SCHEMA)


def test_a_mistyped_extraction_rule_is_not_taken_for_a_pattern() -> None:
    with pytest.raises(SpecError, match=r"did you mean `number`\?"):
        spec_from({**SHORT, "extract": "nmber"})
    assert spec_from({**SHORT, "extract": "answer"}).extract[0].pattern == "answer"
