"""What each command does for its user, beyond formats and exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command import gradetrail, tree
from tests.pipeline.lab import Lab, chat
from tests.servers import Reply

SHIPPED = Path(__file__).parents[2] / "specs/templates"


# ---- init


@pytest.mark.parametrize("template", sorted(path.name for path in SHIPPED.iterdir() if path.is_dir()))
def test_a_template_runs_as_it_is(tmp_path: Path, template: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = gradetrail("init", template, "--folder", "mine")
    assert (made.code, made.raw) == (0, b"")
    command = made.err.partition("try it: gradetrail ")[2].split()
    done = gradetrail(*command)
    assert done.code == 0, done.err
    assert done.out.startswith(f"{template}: ")
    shipped = {path.name for path in (SHIPPED / template).iterdir()}
    assert {path.name for path in (tmp_path / "mine").iterdir()} == shipped
    assert shipped >= {f"{template}.yaml", f"{template}.jsonl"}


def test_the_templates_are_named_and_nothing_is_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert sorted(path.name for path in SHIPPED.iterdir() if path.is_dir()) == [
        "choice", "judge", "math", "qa",
    ]  # fmt: skip
    assert gradetrail("init").code == 0
    Path("qa.yaml").write_text("mine")
    before = tree(tmp_path)
    again = gradetrail("init", "qa")
    assert again.code == 2
    assert "qa.yaml already there; nothing was written" in again.err
    assert tree(tmp_path) == before


# ---- plan


def test_plan_says_what_a_run_would_do_and_does_nothing(lab: Lab) -> None:
    lab.write(epochs=2, prompt={"system": "Be brief.", "user": "{{ question }}"})
    before = tree(lab.folder)
    done = gradetrail("plan", "spec.yaml", "--format", "json")
    (row,) = json.loads(done.raw)
    assert (row["trials"], row["hits"], row["requests"], row["run"]) == (12, 0, 12, "new")
    assert done.err.startswith(
        "--- openai_compatible/m1 / default / sample s1 / epoch 1\n[system] Be brief.\n[user] What is"
    )
    assert gradetrail("plan", "spec.yaml", "--show", "0").err == ""
    assert (lab.api.n_calls, tree(lab.folder)) == (0, before)
    assert gradetrail("run", "spec.yaml").code == 0
    assert lab.api.n_calls == 12
    (row,) = json.loads(gradetrail("plan", "spec.yaml", "--format", "json").raw)
    assert (row["hits"], row["requests"]) == (12, 0)
    assert row["run"] == lab.row("select run_id from runs")["run_id"]


def test_plan_needs_no_key_and_says_what_a_run_will_miss(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    server = "{model: openai_compatible/m, base_url: '${LAB_URL}', endpoint: lab}"
    Path("keys.yaml").write_text(
        "name: keys\ndataset: data.jsonl\nprompt: '{{ question }}'\ntarget: x\nscorer: exact\n"
        f"models:\n  - openai/gpt-5.1-mini\n  - {server}\n"
    )
    for name in ("OPENAI_API_KEY", "LAB_URL"):
        monkeypatch.delenv(name, raising=False)
    done = gradetrail("plan", "keys.yaml", "--format", "json", "--show", "0")
    assert done.code == 0
    assert [row["requests"] for row in json.loads(done.raw)] == [6, 6]
    missing = (
        "keys.yaml:7: models.0.api_key_env: the API key OPENAI_API_KEY is not set",
        "keys.yaml:8: models.1.base_url: the environment variable LAB_URL is not set",
    )
    assert all(f"warning: `run` will refuse this: {text}" in done.err for text in missing)
    refused = gradetrail("run", "keys.yaml")
    assert refused.code == 2 and all(text in refused.err for text in missing)
    monkeypatch.setenv("LAB_URL", "no url")
    broken = gradetrail("plan", "keys.yaml")
    assert (broken.code, broken.out) == (2, "") and "models.1.base_url" in broken.err


def test_plan_names_what_differs_from_the_newest_run(lab: Lab) -> None:
    lab.write()
    gradetrail("run", "spec.yaml")
    lab.write(prompt="{{ question }} Please.")
    done = gradetrail("plan", "spec.yaml")
    assert "differs from the newest run: prompts: default.messages.0.user" in done.err
    assert lab.api.n_calls == 6


# ---- run


def test_run_says_what_is_new_and_what_differs(lab: Lab) -> None:
    lab.write()
    first = gradetrail("run", "spec.yaml", "--tag", "base")
    run_id = lab.row("select run_id from runs")["run_id"]
    assert first.err == f"new run {run_id}: complete, 6/6 requests, 0 hits{first.err.partition('0 hits')[2]}"
    again = gradetrail("run", "spec.yaml")
    assert again.err.startswith(f"run {run_id}: complete, 0/0 requests, 6 hits")
    lab.write(request={"max_tokens": 9})
    other = gradetrail("run", "spec.yaml")
    assert "a new run is made; answers that fit are kept:\n  request: max_tokens 64 -> 9\n" in other.err


def test_a_run_is_named_in_every_way(lab: Lab) -> None:
    lab.write()
    gradetrail("run", "spec.yaml", "--tag", "base")
    gradetrail("run", "spec.yaml", "--new")
    old, new = (row["run_id"] for row in lab.rows("select run_id from runs order by started_at"))
    for name, run_id in (
        ("latest", new), ("latest~1", old), ("sums@latest", new), ("sums@base", old),
        (old, old), (new[-6:], new),
    ):  # fmt: skip
        done = gradetrail("show", "runs", name, "--format", "json")
        assert [row["run_id"] for row in json.loads(done.raw)] == [run_id], name


def test_flags_have_environment_equivalents_and_win(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.write(model=None, models=[lab.model(name="m1"), lab.model(name="m2")])
    settings = {
        "WAREHOUSE": "elsewhere",
        "FORMAT": "json",
        "LIMIT": "2",
        "EPOCHS": "2",
        "ALLOW_ERRORS": "50%",
    }
    for name, value in {**settings, "MODEL": "openai_compatible/m2"}.items():
        monkeypatch.setenv(f"GRADETRAIL_{name}", value)
    done = gradetrail("run", "spec.yaml")
    assert done.code == 0, done.err
    assert [(row["model"], row["n"]) for row in json.loads(done.raw)] == [("openai_compatible/m2", 4)]
    assert (lab.folder / "elsewhere/gradetrail.json").exists()
    assert not lab.warehouse.exists()
    flags = ("--warehouse", "warehouse", "--format", "csv", "--limit", "1", "--epochs", "1")
    done = gradetrail("run", "spec.yaml", *flags, "--model", "openai_compatible/m1")
    assert done.out.startswith("task,")
    assert lab.row("select models, n_trials from runs") == {"models": ["openai_compatible/m1"], "n_trials": 1}


def test_refresh_new_cases_where_and_sample_are_flags_of_the_command(lab: Lab) -> None:
    lab.write()
    for flags, n_calls in (
        (("--cases", "s1, s3"), 2),
        (("--where", "target = '2'"), 0),
        (("--sample", "2", "--seed", "3"), None),
        ((), None),
        (("--new",), 0),
        (("--refresh",), 6),
    ):
        before = lab.api.n_calls
        done = gradetrail("generate", "spec.yaml", *flags)
        assert done.code == 0, done.err
        assert n_calls is None or lab.api.n_calls - before == n_calls, flags
    assert lab.row("select count(*) as n, sum(cast(is_limited as integer)) as limited from runs") == {
        "n": 6, "limited": 3,
    }  # fmt: skip


# ---- show, sql, diff


def test_bare_show_is_the_leaderboard_of_all_tasks(lab: Lab) -> None:
    lab.write()
    board = gradetrail("run", "spec.yaml").out
    assert (
        gradetrail("show").out
        == gradetrail("leaderboard").out
        == gradetrail("show", "--task", "sums").out
        == board
    )


def test_graded_trials_are_shown_by_run_entrant_and_sample(lab: Lab) -> None:
    lab.write(models=[lab.model(name=name) for name in ("m2", "m1")], epochs=2)
    gradetrail("run", "spec.yaml")
    lines = gradetrail("show", "graded", "latest", "--format", "jsonl").out.splitlines()
    keys = [(row["model"], row["sample_id"], row["epoch"]) for row in map(json.loads, lines)]
    assert len(keys) == 24
    assert keys == sorted(keys)
    assert gradetrail("show", "graded", "--limit", "3", "--format", "jsonl").out.splitlines() == lines[:3]


def test_sql_reads_a_query_from_stdin_and_binds_values(lab: Lab) -> None:
    lab.write()
    gradetrail("run", "spec.yaml")
    query = "select count(*) as n from graded where sample_id = $id"
    for done in (
        gradetrail("sql", query, "--param", "id=s2", "--format", "jsonl"),
        gradetrail("sql", "-", "--param", "id=s2", "--format", "jsonl", stdin=query),
        gradetrail("sql", "--param", "id=s2", "--format", "jsonl", stdin=query),
    ):
        assert (done.code, done.out) == (0, '{"n": 1}\n')
    hostile = gradetrail("sql", query, "--param", "id=x' or 1=1 --", "--format", "jsonl")
    assert hostile.out == '{"n": 0}\n'


def test_a_view_of_the_users_own_shows_up(lab: Lab) -> None:
    lab.write()
    gradetrail("run", "spec.yaml")
    folder = lab.warehouse / "sql"
    folder.mkdir()
    (folder / "easy.sql").write_text("create view easy as select sample_id from graded where is_pass")
    assert len(json.loads(gradetrail("show", "easy", "--format", "json").raw)) == 6
    behind = gradetrail("show", "easy", "--sql").out
    assert behind == "select sample_id from graded where is_pass\n"
    assert gradetrail("sql", "select count(*) as n from easy", "--format", "jsonl").out == '{"n": 6}\n'


def test_diff_says_counts_for_people_and_lists_what_changed(lab: Lab) -> None:
    lab.write()
    gradetrail("run", "spec.yaml")
    lab.api.answer = lambda call: Reply(body={**chat("Answer: 2"), "model": "m1"})
    gradetrail("run", "spec.yaml", "--refresh")
    done = gradetrail("diff", "latest~1", "latest")
    assert done.err.splitlines()[0] == "numeric: 5 broken (response), 1 same"
    assert len(done.out.splitlines()) == 2 + 5
    assert len(json.loads(gradetrail("diff", "latest~1", "latest", "--all", "--format", "json").raw)) == 6


# ---- odd surroundings


def environment(**changed: str) -> dict[str, str]:
    dropped = ("LANG", "LC_", "PYTHON", "TZ")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    return clean | {"PYTHONPATH": os.pathsep.join(sys.path)} | changed


def real(*arguments: str, **env: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "gradetrail", *arguments]
    return subprocess.run(command, env=environment(**env), capture_output=True, timeout=60)


def test_files_are_utf_8_and_a_poor_terminal_degrades(lab: Lab) -> None:  # H94
    rows = [
        {"id": "1", "question": "Reply with a smile", "target": "😀"},
        {"id": "2", "question": "family", "target": "👨‍👩‍👧"},
        {"id": "3", "question": "arrow", "target": "→ ≤ 漢"},
    ]
    lab.data("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    lab.api.answer = lambda call: Reply(body=chat("😀 is a smile"))
    lab.write(prompt="{{ question }} → {{ target }}", extract=None, scorer="includes", description="Lächeln")
    poor = {"PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}
    done = real("run", "spec.yaml", **poor)
    assert done.returncode == 0, done.stderr
    shown = real("show", "wrong", "--format", "json", **poor)
    assert shown.returncode == 0, shown.stderr
    assert json.loads(shown.stdout.decode("ascii").replace("\\U", "\\\\U").replace("\\u", "\\\\u"))
    assert real("plan", "spec.yaml", **poor).returncode == 0
    answers = lab.rows("select text, messages from responses order by messages")
    assert {row["text"] for row in answers} == {"😀 is a smile"}
    assert any("👨‍👩‍👧" in row["messages"] for row in answers)
    assert "Lächeln" in next((lab.warehouse / "runs").glob("*.json")).read_text(encoding="utf-8")
    out = real("show", "wrong", "--format", "csv", "--output", "wrong.csv", **poor)
    assert out.returncode == 0
    assert "👨‍👩‍👧" in (lab.folder / "wrong.csv").read_text(encoding="utf-8")


def test_times_are_utc_whatever_the_zone(lab: Lab) -> None:
    lab.write()
    here = real("run", "spec.yaml", TZ="America/New_York")
    assert here.returncode == 0, here.stderr
    query = "select started_at from runs"
    shown = {
        real("sql", query, "--format", form, TZ=zone).stdout
        for zone in ("UTC", "Asia/Kolkata")
        for form in ["csv"]
    }
    assert len(shown) == 1
    assert lab.row("select run_id, strftime(started_at, '%Y%m%dT%H%M') as t from runs")["t"] in (
        shown.pop().decode().split()[1].replace("-", "").replace(":", "")
    )


def test_a_reader_that_goes_away_is_no_error(lab: Lab) -> None:
    lab.write()
    gradetrail("run", "spec.yaml")
    query = "select repeat(text, 5000) from responses, range(200)"
    command = f"{sys.executable} -m gradetrail sql '{query}' --format jsonl | head -c 10"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], env=environment(), capture_output=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == b""


def test_debug_shows_the_traceback_and_nothing_else_does(lab: Lab) -> None:
    lab.write(prompt="{{ questio }}")
    assert b"Traceback" not in real("run", "spec.yaml").stderr
    assert b"Traceback" in real("--debug", "run", "spec.yaml").stderr
