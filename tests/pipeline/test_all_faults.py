"""What is wrong at several stages is told in one report."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

import gradetrail as gt
from gradetrail.errors import Fault
from gradetrail.warehouse import Warehouse
from tests.cli.command import gradetrail, tree
from tests.pipeline.lab import Lab

SPEC = """\
name: {name}
dataset: data.jsonl
prompt: "{{{{ question }}}}"
target: "{{{{ target }}}}"
model: {{model: python/mine, path: mine.py, class: Mine}}
scorers:
  words: bleu
  own:
    type: sql
    sql: "{sql}"
"""


@pytest.fixture
def faulty(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """A lab without sacrebleu, whose python model has no model_id."""
    monkeypatch.setattr(
        "gradetrail.scoring.definition_check.find_spec",
        lambda name: None if name == "sacrebleu" else find_spec(name),
    )
    (lab.folder / "mine.py").write_text("class Mine:\n    def generate(self, messages, sample): return 'x'\n")
    return lab


def written(lab: Lab, name: str, sql: str = "true") -> Path:
    path = lab.folder / "faulty.yaml"
    path.write_text(SPEC.format(name=name, sql=sql), encoding="utf-8")
    return path


def faults_of(path: Path, warehouse: Path) -> list[Fault]:
    with pytest.raises(gt.GradetrailError) as caught:
        gt.run(str(path), warehouse=warehouse)
    return list(caught.value.faults)


def test_a_bad_name_a_missing_extra_and_a_class_without_model_id_come_together(faulty: Lab) -> None:
    path = written(faulty, "sümme")
    messages = [fault.message for fault in faults_of(path, faulty.warehouse)]
    assert len(messages) == 3
    assert "`sümme` is not a name: ASCII letters" in messages[0]
    assert messages[1:] == ["`bleu` needs the package sacrebleu", "`Mine` has no `model_id`"]
    for command in ("plan", "run"):
        done = gradetrail(command, path)
        assert (done.code, [message in done.err for message in messages]) == (2, [True] * 3)
    assert not faulty.warehouse.exists()


def test_a_missing_extra_does_not_hide_a_class_without_model_id(faulty: Lab) -> None:
    messages = [fault.message for fault in faults_of(written(faulty, "sums"), faulty.warehouse)]
    assert messages == ["`bleu` needs the package sacrebleu", "`Mine` has no `model_id`"]


def test_a_bad_name_does_not_hide_what_the_rest_of_the_form_has(lab: Lab) -> None:
    path = lab.folder / "faulty.yaml"
    path.write_text("name: a b\ndataset: data.jsonl\nprompt: x\ntarget: y\nscorer: exact\nmodel: nobody/m\n")
    assert [fault.field for fault in faults_of(path, lab.warehouse)] == ["name", "models.0.model"]


def test_a_column_that_is_not_there_is_told_at_the_line_of_its_scorer(lab: Lab) -> None:
    (lab.folder / "mine.py").write_text(
        "class Mine:\n    model_id = 'm'\n    def generate(self, messages, sample): return 'x'\n"
    )
    (fault,) = faults_of(written(lab, "sums", "txt = target"), lab.warehouse)
    assert (Path(fault.where).name, fault.field) == ("faulty.yaml:8", "scorers.own.sql")


SIX = """\
name: six
dataset: dta.jsonl
prompt: "{{ question }"
target: "{{ target }}"
model: opena/gpt-5
epochs: two
extract: '[un'
scorers:
  a: {type: numeric, extract: '(b', tolerence: 3}
  b: {type: regex, pattern: '(c'}
  c: {type: combine, of: [a, zz]}
  d: {type: exact, target: "{{ x | nofilter }}"}
  e: {type: switch, on: "{{ x", cases: {f: zz, g: {type: exact, target: "{{ y"}}}
  1: {type: exact, zz: 1}
"""


def test_faults_of_form_models_patterns_templates_and_files_come_in_one_round(lab: Lab) -> None:
    path = lab.folder / "six.yaml"
    path.write_text(SIX)
    faults = faults_of(path, lab.warehouse)
    assert sorted(fault.field for fault in faults) == [
        "dataset.path", "epochs", "extract.0", "models.0.model", "prompts.default", "scorers.1.zz",
        "scorers.a.extract.0",
        "scorers.a.tolerence", "scorers.b.pattern", "scorers.c.of", "scorers.d.target",
        "scorers.e.cases.f", "scorers.e.cases.g.target", "scorers.e.on",
    ]  # fmt: skip
    assert all(fault.fix and fault.where for fault in faults)


def test_a_fault_of_form_brings_no_fault_that_only_follows_from_it(lab: Lab) -> None:
    path = lab.folder / "few.yaml"
    path.write_text(
        'name: few\ndataset: data.jsonl\nprompt: 3\ntargt: "{{ target }}"\n'
        "request: {max_tokens: many}\nmodel: anthropic/claude\n"
        "scorers:\n  a: {type: exat}\n  b: {type: combine, of: [a]}\n  c: numeric\n"
    )
    fields = {fault.field for fault in faults_of(path, lab.warehouse)}
    assert fields == {"prompts.default", "targt", "request.max_tokens", "scorers.a"}


def test_what_is_wrong_in_a_valid_form_comes_with_the_missing_dataset(lab: Lab) -> None:
    path = lab.folder / "valid.yaml"
    path.write_text(
        "name: s\ndataset: dta.jsonl\nprompt: '{{ question }'\ntarget: x\n"
        "scorers: {a: {type: regex, pattern: '(c'}, b: exact}\nmodel: mock/noisy\n"
    )
    fields = [fault.field for fault in faults_of(path, lab.warehouse)]
    assert sorted(fields) == ["dataset.path", "prompts.default", "scorers.a.pattern"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "data.jsonl: no such file"),
        ("", "data.jsonl: is empty"),
        ("\n", "data.jsonl: there are no rows"),
        ('{"id": "a", "question": "1"}\n{"id": "a", "question": "2"}\n', "the id `a` stands in 2 rows"),
    ],
)
def test_a_fault_of_the_dataset_names_the_line_of_the_spec_and_what_to_do(
    lab: Lab, data: str | None, message: str
) -> None:
    path, file = lab.folder / "valid.yaml", lab.folder / "data.jsonl"
    path.write_text(
        "name: s\ndataset: data.jsonl\nprompt: '{{ question }}'\ntarget: x\n"
        "scorer: exact\nmodel: mock/noisy\n"
    )
    file.unlink(missing_ok=True)
    if data is not None:
        file.write_text(data)
    (lab.folder / "dta.jsonl").write_text("{}")
    (fault,) = faults_of(path, lab.warehouse)
    assert (fault.where, message in fault.message, bool(fault.fix)) == (f"{path}:2", True, True)
    assert "valid.yaml" not in fault.fix


@pytest.mark.parametrize("scorers", ["scorer: numeric", "scorers: {a: numeric, b: exact}"])
def test_a_fault_of_the_shared_extraction_comes_once_and_at_its_own_line(lab: Lab, scorers: str) -> None:
    path = lab.folder / "faulty.yaml"
    path.write_text(
        'name: s\ndataset: data.jsonl\nprompt: "{{ question }}"\ntarget: "{{ target }}"\n'
        f"{scorers}\nmodel: mock/noisy\nextract: '[unclosed'\n"
    )
    (fault,) = faults_of(path, lab.warehouse)
    assert (Path(fault.where).name, fault.field) == ("faulty.yaml:7", "extract.0")


@pytest.mark.parametrize("head", ["scorer:", "scorers:\n  own:"])
def test_a_fault_of_a_scorer_stands_at_the_line_of_its_option(lab: Lab, head: str) -> None:
    path = lab.folder / "faulty.yaml"
    start = (
        'name: s\ndataset: data.jsonl\nprompt: "{{ question }}"\ntarget: "{{ target }}"\nmodel: mock/noisy\n'
    )
    path.write_text(f"{start}{head}\n    type: numeric\n    extract: '[unclosed'\n")
    (fault,) = faults_of(path, lab.warehouse)
    assert fault.where == f"{path}:{path.read_text().count(chr(10))}"


def test_a_pattern_is_quoted_as_it_was_written(lab: Lab) -> None:
    path = lab.folder / "faulty.yaml"
    path.write_text(
        'name: s\ndataset: data.jsonl\nprompt: "{{ question }}"\ntarget: x\nmodel: mock/noisy\n'
        "scorer: {type: regex, pattern: 'A: (\\d+'}\n"
    )
    (fault,) = faults_of(path, lab.warehouse)
    assert "in `A: (\\d+`" in fault.message


def test_a_slip_in_the_syntax_of_where_is_told_with_the_form_of_a_condition(lab: Lab) -> None:
    path = lab.folder / "faulty.yaml"
    path.write_text(
        'name: s\ndataset: data.jsonl\nprompt: "{{ question }}"\ntarget: x\n'
        "model: mock/noisy\nscorer: exact\n"
    )
    done = gradetrail("plan", path, "--where", "question = = 3")
    assert (done.code, "fix: write one SQL condition" in done.err) == (2, True)
    done = gradetrail("plan", path, "--where", "qestion = 'a'")
    assert (done.code, "fix: columns: " in done.err) == (2, True)


def test_a_file_that_a_query_may_not_read_is_told_with_the_flag(lab: Lab) -> None:
    lab.run()
    before = tree(lab.warehouse)
    (lab.folder / "own.csv").write_text("a,b\n1,2\n")
    query = "select a from read_csv('own.csv')"
    done = gradetrail("sql", query)
    assert (done.code, "fix: name the file or its folder: `--allow-files PATH`" in done.err) == (2, True)
    assert gradetrail("sql", query, "--allow-files", "own.csv").code == 0
    with Warehouse(lab.warehouse) as warehouse, pytest.raises(gt.GradetrailError, match="own_files="):
        warehouse.sql(query)
    assert tree(lab.warehouse) == before


def test_faults_come_in_the_order_of_the_lines_they_stand_on(lab: Lab) -> None:
    path = lab.folder / "six.yaml"
    path.write_text(SIX)
    lines = [int(fault.where.rpartition(":")[2]) for fault in faults_of(path, lab.warehouse)]
    assert lines == sorted(lines)
    assert lines[0] == 2
    assert lines[-1] == 13
    assert len(set(lines)) > 8


@pytest.mark.parametrize("pattern", ["(c", "c"])
def test_faults_of_examples_come_with_those_of_scorers_or_of_samples(lab: Lab, pattern: str) -> None:
    path = lab.folder / "shots.yaml"
    (lab.folder / "dev.jsonl").write_text('{"question": "1"}\n{"question"\n')
    path.write_text(
        "name: s\ndataset: data.jsonl\nprompt: '{{ qestion }}'\ntarget: x\n"
        "few_shot: {path: dev.jsonl, n: 1}\nmodel: mock/noisy\n"
        f"scorers: {{a: {{type: regex, pattern: '{pattern}'}}}}\n"
    )
    faults = faults_of(path, lab.warehouse)
    assert (faults[0].where, faults[0].field) == (f"{path}:5", "few_shot.path")
    assert "dev.jsonl:2: not valid JSON" in faults[0].message
    assert (faults[1].field == "scorers.a.pattern") == (pattern == "(c")
    assert ("qestion" in faults[1].message) == (pattern == "c")


def test_a_fault_of_the_form_does_not_hide_one_of_the_examples(lab: Lab) -> None:
    path = lab.folder / "shots.yaml"
    path.write_text(
        "name: s\ndataset: data.jsonl\nprompt: '{{ question }}'\ntarget: x\nepochs: two\n"
        "few_shot: {path: nope.jsonl, n: 1}\nmodel: mock/noisy\nscorer: exact\n"
    )
    assert [fault.field for fault in faults_of(path, lab.warehouse)] == ["epochs", "few_shot.path"]
