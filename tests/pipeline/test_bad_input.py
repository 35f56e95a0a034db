"""Whatever is wrong with what the user gives: one report with place, field and fix on stderr, exit 2,
no call made, nothing written, no traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import Done, gradetrail, tree
from tests.pipeline.lab import SIX, Lab

ROW_700 = [
    {"id": str(n), "question": f"{n}?", "target": "1"}
    if n != 700
    else {"id": "700", "questoin": "?", "target": "1"}
    for n in range(1, 900)
]


def rows(**changed: Any) -> list[dict[str, Any]]:
    """Give nine rows of which the seventh differs."""
    return [
        {"id": str(n), "question": f"{n}?", "target": "1", **(changed if n == 7 else {})}
        for n in range(1, 10)
    ]


@dataclass(frozen=True)
class Case:
    """One thing that is wrong."""

    words: tuple[str, ...]
    """What the report must say."""
    spec: dict[str, Any] = field(default_factory=dict)
    data: Any = None
    """Text or rows in place of the six good ones."""
    flags: tuple[str, ...] = ()
    files: dict[str, str] = field(default_factory=dict)
    n_faults: int = 1


def case(*words: str, **parts: Any) -> Case:
    return Case(words, **parts)


GOOD_800 = "".join(f'{{"id":{n},"question":"a","target":"1"}}\n' for n in range(800))
DATA = {
    "missing file": case(
        "nope.jsonl: no such file", "did you mean `data.jsonl`?", spec={"dataset": "nope.jsonl"}
    ),
    "glob without a match": case("no file matches", spec={"dataset": "nope/*.jsonl"}),
    "bad JSON": case(
        "data.jsonl:2: not valid JSON", data='{"id":1,"question":"a","target":"1"}\n{"id":2,}\n'
    ),
    "bad JSON far down": case("data.jsonl:801:", data=f"{GOOD_800}{{'id': 3}}\n"),
    "NaN": case("data.jsonl:1: target: NaN is not JSON", data='{"id":1,"question":"a","target":NaN}\n'),
    "a number beyond doubles": case(
        "data.jsonl:1: target: 1e999", data='{"id":1,"question":"a","target":1e999}\n'
    ),
    "a list": case("data.jsonl:1:", "one object on each line", data="[1]\n"),
    "no row": case("data.jsonl", data=""),
    "blank lines alone": case("there are no rows", data="\n \n\n"),
    "duplicate ids": case(
        "the id `a` stands in 2 rows: data.jsonl:1, data.jsonl:3",
        data=[{"id": i, "question": "q", "target": "1"} for i in "aba"],
    ),
    "ids 1 and '1'": case(
        "the id `1` stands in 2 rows", data='{"id":1,"question":"a"}\n{"id":"1","question":"b"}\n'
    ),
    "an id of null": case("data.jsonl:1: id: null is not an id", data='{"id":null,"question":"a"}\n'),
    "a column of ids that is not there": case(
        "dataset.id", "did you mean `id`?", spec={"dataset": {"path": "data.jsonl", "id": "idd"}}
    ),
    "a category that is not there": case(
        "dataset.category", "data.jsonl:1", spec={"dataset": {"path": "data.jsonl", "category": "topic"}}
    ),
    "a condition with a typo": case(
        "dataset.where",
        "questio",
        "columns: id, question, target",
        spec={"dataset": {"path": "data.jsonl", "where": "questio = 3"}},
    ),
    "a condition that nothing fulfils": case(
        "keeps no sample", spec={"dataset": {"path": "data.jsonl", "where": "id = 'zz'"}}
    ),
    "a query that is no SELECT": case(
        "dataset.query", "SELECT", spec={"dataset": {"path": "data.jsonl", "query": "delete from dataset"}}
    ),
}

TEMPLATES = {
    "a field that row 700 lacks": case(
        "data.jsonl row 700 (sample 700): prompts.default: 'question' is undefined",
        "did you mean `questoin`?",
        data=ROW_700,
    ),
    "a null": case("data.jsonl row 7 (sample 7)", "a null value in `question`", data=rows(question=None)),
    "a list as it is": case("row 7 (sample 7)", "| join", data=rows(question=["a", "b"])),
    "a typo in a field": case(
        "data.jsonl row 1 (sample s1) and 5 more",
        "did you mean `question`?",
        spec={"prompt": "{{ questio }}"},
    ),
    "a typo in the target": case(
        "scorer `numeric`: 'targt' is undefined", "and 5 more", spec={"target": "{{ targt }}"}
    ),
    "syntax": case("spec.yaml:4: prompts.default: template:", spec={"prompt": "{{ question"}),
    "a filter that is none": case(
        "No filter named 'uppr'", "did you mean `upper`?", spec={"prompt": "{{ question | uppr }}"}
    ),
    "a way out of the sandbox": case(
        "not allowed in a template", spec={"prompt": "{{ question.__class__ }}"}
    ),
    "a constant regex": case(
        "scorers.regex.pattern: not a regular expression",
        "missing )",
        spec={"scorer": {"type": "regex", "pattern": "A: ("}},
    ),
    "a regex that fails at one row": case(
        "data.jsonl row 7 (sample 7)",
        "not a regular expression",
        "`A: (`",
        "`{{ field | regex_escape }}` takes a field as it stands",
        data=rows(target="("),
        spec={"scorer": {"type": "regex", "pattern": "A: {{ target }}"}},
    ),
    "an extraction": case("extract.0: not a regular expression", spec={"extract": "A: ("}),
}

SPECS = {
    "a typo in a key": case(
        "spec.yaml:11: trget: unknown key `trget`", "did you mean `target`?", spec={"trget": "x"}
    ),
    "a typo in a nested key": case(
        "request.max_token", "did you mean `max_tokens`?", spec={"request": {"max_token": 3}}
    ),
    "an unknown prefix": case(
        "models.0.model: unknown model `opnai/x`", "anthropic, http, mock", spec={"model": "opnai/x"}
    ),
    "no prefix": case("unknown model `gpt-5`", "provider/name", spec={"model": "gpt-5"}),
    "the name of a server": case(
        "unknown model `vllm/x`", "openai_compatible/NAME and `base_url:`", spec={"model": "vllm/x"}
    ),
    "a server without an address": case(
        "models.0: `openai_compatible` needs `base_url`",
        "add `base_url:`",
        spec={"model": "openai_compatible/x"},
    ),
    "no scorer": case("`scorers` is missing", "add `scorer:`", spec={"scorer": None}),
    "an unknown scorer": case(
        "unknown scorer type `numerik`", "did you mean `numeric`?", spec={"scorer": "numerik"}
    ),
    "Anthropic without max_tokens": case(
        "Anthropic requires max_tokens", spec={"model": "anthropic/x", "request": {"temperature": 0}}
    ),
    "a variable that is not set": case(
        "models.0.base_url: the environment variable NOPE is not set",
        spec={"model": {"model": "openai_compatible/x", "base_url": "${NOPE}/v1", "endpoint": "lab"}},
    ),
    "a URL without a scheme": case(
        "base_url is not a URL",
        "begins with http://",
        spec={"model": {"model": "openai_compatible/x", "base_url": "localhost:8000"}},
    ),
    "an answers file that is not there": case(
        "models.0.answers", "nope.jsonl", spec={"model": {"model": "replay/x", "answers": "nope.jsonl"}}
    ),
    "an adapter that is not there": case(
        "models.0.path", "nope.py", spec={"model": {"model": "python/x", "path": "nope.py"}}
    ),
    "a file of tools that is not there": case(
        "models.0.tools", "nope.json", spec={"request": {"tools": "nope.json"}}
    ),
    "examples that are not there": case(
        "spec.yaml:12: few_shot.path", "nope.jsonl", spec={"few_shot": {"path": "nope.jsonl", "n": 2}}
    ),
    "several things at once": case(
        "request.max_token",
        "epochs",
        "trget",
        n_faults=3,
        spec={"request": {"max_token": 3}, "epochs": 0, "trget": "x"},
    ),
}

FLAGS = {
    "a sample that is not there": case(
        "--cases: no sample `zz`", "known: s1, s2", flags=("--cases", "s1,zz")
    ),
    "a condition": case("--where", "columns: id, question, target", flags=("--where", "foo = 1")),
    "a condition that ends the query": case("--where", flags=("--where", "1=1; drop table dataset")),
    "a model": case("--model: no model `zz`", "known: openai_compatible/m1", flags=("--model", "zz")),
    "a prompt": case("--prompt: no prompt `zz`", "known: default", flags=("--prompt", "zz")),
    "a tag": case("--tag: `a b` is no tag", flags=("--tag", "a b")),
    "a share of errors": case("--allow-errors: `200%` is no share", "5%", flags=("--allow-errors", "200%")),
    "an age": case("--max-age: `3x` is no age", "12h", flags=("--max-age", "3x")),
    "a condition on the result": case("--fail-on mean <", "mean", flags=("--fail-on", "mean <")),
    "a column of the result": case("--fail-on foo < 3", "foo", "mean", flags=("--fail-on", "foo < 3")),
    "a folder for the output": case("--output: cannot write nope/x.json", flags=("--output", "nope/x.json")),
    "a ceiling without a price": case(
        "no price for openai_compatible/m1", "prices.yaml", flags=("--max-cost", "1")
    ),
    "a limit of 0": case("--limit", flags=("--limit", "0")),
    "a flag that is none": case("--lmit", "--limit", flags=("--lmit", "3")),
}

WAREHOUSES = {
    "a file": case("afile: is a file, not a folder", flags=("--warehouse", "afile"), files={"afile": "x"}),
    "below a file": case(
        "afile/sub: cannot make a warehouse", flags=("--warehouse", "afile/sub"), files={"afile": "x"}
    ),
    "where nobody may write": case(
        "/proc/nope: cannot make a warehouse", flags=("--warehouse", "/proc/nope")
    ),
    "another folder": case(
        "holds `notes.txt`", flags=("--warehouse", "other"), files={"other/notes.txt": "x"}
    ),
    "of a newer format": case(
        "gradetrail 9.9 wrote it in format 99",
        "install a newer gradetrail",
        flags=("--warehouse", "newer"),
        files={"newer/gradetrail.json": '{"format": 99, "written_by": "gradetrail 9.9"}'},
    ),
    "with a damaged format": case(
        "is damaged", flags=("--warehouse", "broken"), files={"broken/gradetrail.json": '{"form'}
    ),
    "whose journal is a file": case(
        "journal",
        flags=("--warehouse", "odd"),
        files={"odd/gradetrail.json": '{"format": 1}', "odd/journal": "x"},
    ),
}

EVERY = {
    f"{group}: {name}": one
    for group, cases in (
        ("data", DATA), ("template", TEMPLATES), ("spec", SPECS), ("flag", FLAGS), ("warehouse", WAREHOUSES),
    )
    for name, one in cases.items()
}  # fmt: skip


def refused(lab: Lab, act: Callable[[], Done]) -> str:
    """Run something that must be refused; give the report."""
    before = tree(lab.folder)
    done = act()
    assert done.code == 2, done.err
    assert done.raw == b""
    assert lab.api.n_calls == 0
    assert tree(lab.folder) == before
    assert "Traceback" not in done.err
    assert "internal error" not in done.err
    return done.err


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("command", ["run"])
def test_it_is_refused_with_place_and_fix_before_any_call_and_write(
    lab: Lab, command: str, name: str
) -> None:
    wrong = EVERY[name]
    if wrong.data is not None:
        lab.data(wrong.data)
    for path, text in wrong.files.items():
        (lab.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (lab.folder / path).write_text(text)
    lab.write(**wrong.spec)
    report = refused(lab, lambda: gradetrail("run", "spec.yaml", *wrong.flags))
    for words in wrong.words:
        assert words in report, report
    if report.startswith("error: "):
        # a fault begins at the margin; what DuckDB adds to a message does too
        begins = [line for line in report.splitlines() if not line.startswith(("    ", "Candidate", "LINE"))]
        assert len([line for line in begins if ": " in line]) == wrong.n_faults, report


@pytest.mark.parametrize("command", ["generate", "plan"])
@pytest.mark.parametrize(
    "name", ["data: bad JSON", "template: a field that row 700 lacks", "spec: a typo in a key"]
)
def test_generate_and_plan_refuse_the_same(lab: Lab, command: str, name: str) -> None:
    wrong = EVERY[name]
    if wrong.data is not None:
        lab.data(wrong.data)
    lab.write(**wrong.spec)
    report = refused(lab, lambda: gradetrail(command, "spec.yaml"))
    assert all(words in report for words in wrong.words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"name: a\nname: b\n", ("spec.yaml:2: name: key `name` stands twice (first on line 1)",)),
        (b"name: [\n", ("spec.yaml:2: not valid YAML",)),
        (b"\xff\xfe", ("spec.yaml: not UTF-8",)),
        (b"", ("spec.yaml:1",)),
    ],
)
def test_a_spec_that_is_no_spec_is_refused(lab: Lab, text: bytes, words: tuple[str, ...]) -> None:
    (lab.folder / "spec.yaml").write_bytes(text)
    report = refused(lab, lambda: gradetrail("run", "spec.yaml"))
    assert all(each in report for each in words)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nope.yaml", "nope.yaml: no such file"),
        (".", "is a folder, not a spec file"),
        ("latest", "`latest` is neither a spec file nor a run"),
    ],
)
def test_what_is_neither_a_spec_nor_a_run_is_refused(lab: Lab, name: str, words: str) -> None:
    assert words in refused(lab, lambda: gradetrail("run", name))


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_missing_key_is_named_if_it_is_needed_and_not_asked_for_otherwise(
    lab: Lab, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"{provider.upper()}_API_KEY"
    lab.write(model=lab.model(provider))
    monkeypatch.delenv(name)
    report = refused(lab, lambda: gradetrail("run", "spec.yaml"))
    assert f"models.0.api_key_env: the API key {name} is not set" in report
    assert f"export {name}=" in report
    monkeypatch.setenv(name, "sk-test-key-0123456789")
    assert gradetrail("run", "spec.yaml").code == 0
    monkeypatch.delenv(name)
    assert gradetrail("run", "spec.yaml").code == 0
    assert gradetrail("score", "spec.yaml").code == 0
    assert lab.api.n_calls == 6


def test_the_faults_of_one_spec_keep_every_spec_of_the_command_from_calling(lab: Lab) -> None:
    lab.write("good.yaml")
    lab.write("bad.yaml", prompt="{{ questio }}")
    assert "did you mean `question`?" in refused(lab, lambda: gradetrail("run", "good.yaml", "bad.yaml"))


def test_only_the_first_twenty_different_faults_are_listed(lab: Lab) -> None:
    lab.data([{"id": str(n), f"question{n}": "?", "target": "1"} for n in range(30)])
    lab.write()
    report = refused(lab, lambda: gradetrail("run", "spec.yaml"))
    assert report.count("'question' is undefined") == 20
    assert "and 10 more" in report


def test_a_real_process_ends_the_same_way(lab: Lab) -> None:
    lab.data(ROW_700)
    lab.write()
    before = tree(lab.folder)
    done = subprocess.run(
        [sys.executable, "-m", "gradetrail", "run", "spec.yaml"],
        cwd=lab.folder, env=os.environ, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(
        "error: data.jsonl row 700 (sample 700): prompts.default: 'question' is undefined"
    )
    assert lab.api.n_calls == 0
    assert tree(lab.folder) == before


def test_files_of_odd_but_valid_form_are_read(lab: Lab) -> None:
    line = '{"id": "%s", "question": "a\u2028b\u0085c %s? [[gold=2]]", "target": "2"}'
    text = "\ufeff" + "\r\n".join(line % (n, n) for n in ("one", "two")) + "\r\n\r\n"
    (lab.folder / "data.jsonl").write_bytes(text.encode())
    lab.write()
    assert gradetrail("run", "spec.yaml").code == 0
    assert lab.row("select count(*) as n, min(sample ->> 'question') as q from graded") == {
        "n": 2, "q": "a\u2028b\u0085c one? [[gold=2]]",
    }  # fmt: skip


# ---- commands that read


@pytest.fixture
def done_once(lab: Lab) -> Lab:
    lab.write()
    assert gradetrail("run", "spec.yaml").code == 0
    lab.api.reset()
    return lab


READING = [
    (("show", "nope"), ("no view `nope`", "leaderboard")),
    (("show", "grades_"), ("did you mean `grades`?",)),
    (("show", "nope", "--sql"), ("no view `nope`",)),
    (("show", "graded", "nope"), ("no run `nope`", "-sums-")),
    (("show", "graded", "latest~3"), ("task `sums` has 1 run",)),
    (("show", "--task", "zz"), ("--task: no run of task `zz`", "known: sums")),
    (("show", "pairwise", "latest"), ("view `pairwise` has no column `run_id`", "leave the run out")),
    (("show", "prices", "--task", "sums"), ("view `prices` has no column `task`", "leave --task out")),
    (("show", "graded", "--task", "zz"), ("--task: no run of task `zz`",)),
    (("leaderboard", "--task", "sum"), ("did you mean `sums`?",)),
    (("show", "runs", "--output", "nope/x"), ("--output: cannot write nope/x",)),
    (("show", "runs", "--limit", "-1"), ("--limit",)),
    (("sql", "selec 1"), ("syntax error", "selec")),
    (("sql", "select nope from graded"), ('"nope" not found', "LINE 1")),
    (("sql", "select * from gradd"), ("name gradd does not", "did you mean `graded`?", "LINE 1")),
    (("show", "diff"), ("view `diff` takes arguments", "from diff(")),
    (("sql", "delete from graded"), ("one SELECT", "delete")),
    (("sql", "select 1; select 2"), ("one SELECT",)),
    (("sql", ""), ("one SELECT",)),
    (("sql", "select $x"), ("no value for $x",)),
    (("sql", "select $x", "--param", "x"), ("--param: `x` is not NAME=VALUE",)),
    (("sql", "select * from read_text('/etc/passwd')"), ("/etc/passwd",)),
    (("sql", "copy (select 1) to 'x.csv'"), ("one SELECT",)),
    (("sql", "attach 'x.db'"), ("one SELECT",)),
    (("diff", "nope"), ("no run `nope`",)),
    (("diff", "--model", "a,b"), ("--model: no model `a`",)),
    (("diff", "--scorer", "numeric~1,numeric"), ("numeric", "1 definition")),
    (("diff", "--scorer", "a,b,c"), ("--scorer", "two sides")),
    (("score",), ("nothing to score", "--all")),
    (("score", "nope"), ("no run `nope`",)),
    (("run", "latest~1"), ("task `sums` has 1 run",)),
    (("init", "qaa"), ("did you mean `qa`?",)),
    (("init", "qa", "--folder", "data.jsonl"), ("data.jsonl: cannot write there",)),
    (("demo", "gsm"), ("gsm8k", "ten_tasks")),
    (("runn",), ("Did you mean 'run'?",)),
    (("show", "--format", "xml"), ("table", "parquet")),
]


def test_reading_commands_refuse_what_names_nothing(done_once: Lab) -> None:
    for arguments, words in READING:
        report = refused(done_once, lambda arguments=arguments: gradetrail(*arguments))
        for each in words:
            assert each in report, (arguments, report)


def test_a_demo_that_cannot_be_copied_says_so(lab: Lab) -> None:
    (lab.folder / "specs").write_text("mine")
    report = refused(lab, lambda: gradetrail("demo"))
    assert "specs/gsm8k: cannot copy the demo there" in report
    assert "work in another folder" in report


def test_without_a_warehouse_the_way_to_one_is_said(lab: Lab) -> None:
    for arguments in (("show",), ("sql", "select 1"), ("diff",), ("score", "latest"), ("score", "--all")):
        report = refused(lab, lambda arguments=arguments: gradetrail(*arguments))
        assert "warehouse" in report
        assert "--warehouse DIR" in report


def test_a_damaged_manifest_is_named_and_the_rest_shown(done_once: Lab) -> None:
    (done_once.warehouse / "runs/20260101T000000Z-sums-123456.json").write_text("{")
    done = gradetrail("show", "runs", "--format", "json")
    assert done.code == 0
    assert len(json.loads(done.out)) == 1
    assert "warning: left out, so the result is partial" in done.err
    assert "20260101T000000Z-sums-123456.json" in done.err
    assert "partial" in gradetrail("show").err


def test_no_report_shows_a_key(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test key\n0123456789")
    lab.write(model=lab.model("openai"))
    report = refused(lab, lambda: gradetrail("run", "spec.yaml"))
    assert "holds characters that no key has" in report
    assert "0123456789" not in report


def test_six_rows_are_what_the_good_spec_has(lab: Lab) -> None:
    lab.write()
    assert gradetrail("run", "spec.yaml").code == 0
    assert lab.api.n_calls == len(SIX) == 6


def test_paths_in_reports_are_those_that_the_user_gave(lab: Lab) -> None:
    (lab.folder / "sub").mkdir()
    lab.write("sub/spec.yaml", dataset="../data.jsonl", trget="x")
    assert "error: sub/spec.yaml:11: trget" in refused(lab, lambda: gradetrail("run", Path("sub/spec.yaml")))
