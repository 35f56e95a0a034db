"""Scorers of texts and structures from the spec to the board, without a model."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import gradetrail
from tests.scoring.whole import Desk

CALL = {"name": "add", "arguments": {"x": 1, "y": 2}}
RECORD = {"total": 3, "score": "high"}
SCHEMA = {"type": "object", "required": ["total"], "properties": {"total": {"type": "integer"}}}
SCORERS = {
    "fields": {"type": "json_match", "target": "{{ record }}"},
    "schema": {"type": "json_schema", "schema": "schema.json"},
    "calls": {"type": "tool_calls", "target": "{{ calls }}"},
    "math": {"type": "math", "target": "{{ total }}", "extract": {"json": "total"}},
    "bleu": {"type": "bleu", "target": "{{ text }}", "extract": {"json": "text"}},
    "chrf": {"type": "chrf", "target": "{{ text }}", "extract": {"json": "text"}},
    "near": {"type": "edit_distance", "target": "{{ text }}", "extract": {"json": "text"}},
    "far": {
        "type": "edit_distance",
        "measure": "distance",
        "target": "{{ text }}",
        "extract": {"json": "text"},
    },
}
"""One of each kind; the first is the primary."""


def reply(total: Any, text: str, score: str = "high") -> str:
    return "Here you are:\n" + json.dumps({"total": total, "score": score, "text": text})


def replies(model: str, *, second: str) -> list[dict[str, Any]]:
    calls = json.dumps([{"id": "c", "name": "add", "arguments": '{"y": 2, "x": 1.0}'}])
    return [
        {"model": model, "sample_id": "1", "text": reply(3, "the cat sat on the mat"), "tool_calls": calls},
        {"model": model, "sample_id": "2", "text": second},
        {"model": model, "sample_id": "3", "text": "I would rather not"},
    ]


def desk_in(folder: Path, scorers: dict[str, Any]) -> Desk:
    """Answer and grade by the command, in a folder of its own."""
    sample = {"record": RECORD, "calls": [CALL], "total": "3", "text": "the cat sat on the mat"}
    good = replies("good", second=reply(3, "the cat sat on a mat"))
    poor = replies("poor", second=reply("x", "dogs", "low"))
    opened = Desk(folder, good + poor, [{"id": str(n), **sample} for n in (1, 2, 3)])
    opened.write("schema.json", json.dumps(SCHEMA))
    opened.spec(scorers, target=None)
    done = gradetrail("run", folder / "spec.yaml", "--warehouse", folder / "warehouse")
    assert done.code == 0, done.err
    return opened


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """Give a desk that has graded by every scorer; only to be read."""
    return desk_in(tmp_path_factory.mktemp("desk"), SCORERS)


@pytest.fixture
def own_desk(tmp_path: Path) -> Desk:
    """Give a desk that has graded by two scorers, to go on with."""
    return desk_in(tmp_path, {name: SCORERS[name] for name in ("fields", "schema")})


def board(desk: Desk, columns: str) -> dict[tuple[str, str, str], Any]:
    query = f"select scorer, metric, model, {columns} from leaderboard"
    return {(row[0], row[1], row[2]): row[3:] for row in desk.rows(query)}


def test_each_scorer_and_metric_has_its_rows_on_the_leaderboard(desk: Desk) -> None:
    means = {key: row[0] for key, row in board(desk, "mean").items()}
    assert {(scorer, metric) for scorer, metric, _ in means} == {
        ("fields", "score"), ("fields", "total"), ("fields", "$.score"),
        ("calls", "score"), ("calls", "name"), ("calls", "arguments"),
        *((name, "score") for name in ("schema", "math", "bleu", "chrf", "near", "far")),
    }  # fmt: skip
    by_hand = {
        ("fields", "score"): (2 / 3, 1 / 3),
        ("fields", "total"): (2 / 3, 1 / 3),
        ("fields", "$.score"): (2 / 3, 1 / 3),
        ("schema", "score"): (2 / 3, 1 / 3),
        ("math", "score"): (2 / 3, 1 / 3),
        ("calls", "score"): (1 / 3, 1 / 3),
        ("near", "score"): ((1 + 19 / 22) / 3, None),
    }
    for (scorer, metric), wanted in by_hand.items():
        for model, mean in zip(("good", "poor"), wanted, strict=True):
            if mean is not None:
                assert means[scorer, metric, model] == pytest.approx(mean), (scorer, metric, model)
    for scorer in ("bleu", "chrf", "near"):
        assert means[scorer, "score", "good"] > means[scorer, "score", "poor"]


def test_an_unanswered_sample_counts_as_the_worst_by_every_metric(desk: Desk) -> None:
    counts = board(desk, "n, n_unanswered")
    assert counts["fields", "total", "good"] == (3, 1)
    assert counts["fields", "score", "good"] == (3, 1)
    rows = desk.grades("far", "model, sample_id, score, counts_as, is_pass")
    assert ("good", "3", 1.0, "worst", False) in rows
    assert ("good", "1", 0.0, "score", True) in rows


def test_where_lower_is_better_the_lower_mean_leads(desk: Desk) -> None:
    ranks = board(desk, "rank, mean")
    assert ranks["far", "score", "good"][0] == 1
    assert ranks["far", "score", "good"][1] < ranks["far", "score", "poor"][1]


def test_the_board_over_tasks_shows_the_score_of_the_primary_scorer(desk: Desk) -> None:
    rows = desk.rows("select model, scorer, metric, mean from board order by model")
    assert [row[:3] for row in rows] == [("good", "fields", "score"), ("poor", "fields", "score")]


def test_the_score_stands_before_the_further_metrics(desk: Desk) -> None:
    order = desk.rows("select metric from leaderboard where scorer = 'calls'")
    assert list(dict.fromkeys(order)) == [("score",), ("arguments",), ("name",)]


def test_every_view_can_be_read_and_runs_count_answers_once(desk: Desk) -> None:
    for view in ("board", "leaderboard", "wrong", "errors", "audit", "runs", "run_scores", "pairwise"):
        done = gradetrail("show", view, "--warehouse", desk.folder / "warehouse")
        assert done.code == 0, (view, done.err)
    assert desk.rows("select n_trials from runs") == [(6,)]
    wrong = desk.rows("select distinct scorer, metric from wrong where scorer = 'calls' order by all")
    assert wrong == [("calls", "arguments"), ("calls", "name"), ("calls", "score")]


def test_a_changed_option_is_a_new_definition_and_diff_compares_metric_by_metric(own_desk: Desk) -> None:
    ((first,),) = own_desk.rows("select run_id from runs")
    own_desk.write(
        "answers.jsonl", replies("good", second=reply(4, "x")) + replies("poor", second=reply("x", "x"))
    )
    done = gradetrail(
        "run", own_desk.folder / "spec.yaml", "--new", "--warehouse", own_desk.folder / "warehouse"
    )
    assert done.code == 0, done.err
    ((second,),) = own_desk.rows("select run_id from runs where run_id <> $first", first=first)
    changed = own_desk.rows(
        "select metric, a_score, b_score from diff($first, $second)"
        " where a_model = 'good' and sample_id = '2' and scorer = 'fields' order by metric",
        first=first,
        second=second,
    )
    assert changed == [("$.score", 1.0, 1.0), ("score", 1.0, 0.5), ("total", 1.0, 0.0)]
    loose = {"fields": {**SCORERS["fields"], "abs_tol": 1}, "schema": SCORERS["schema"]}
    assert own_desk.score(loose, target=None) == {"fields": 6, "schema": 0}


def test_faults_of_options_are_found_before_any_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    desk = Desk(tmp_path, [{"sample_id": "1", "text": "x"}])
    spec = {
        "fields": {"type": "json_match", "fields": {"a": {"tolerance": 1}}},
        "schema": {"type": "json_schema"},
        "calls": {"type": "tool_calls", "order": "sorted"},
        "near": {"type": "edit_distance", "normalise": ["strip"]},
        "bleu": {"type": "bleu", "max_order": 0},
    }
    desk.write("spec.yaml", json.dumps({
        "name": "t", "dataset": "data.jsonl", "prompt": "{{ id }}", "target": "{{ answer }}",
        "model": {"model": "replay/m", "answers": "answers.jsonl"}, "scorers": spec,
    }, indent=1))  # fmt: skip
    done = gradetrail("run", "spec.yaml")
    assert done.code == 2
    for field in (
        "scorers.fields.fields.a.tolerance", "scorers.schema.schema", "scorers.calls.order",
        "scorers.near.normalise", "scorers.bleu.max_order",
    ):  # fmt: skip
        assert field in done.err, done.err
    assert not (tmp_path / "warehouse").exists()


def test_targets_that_cannot_be_compared_with_are_told_of_before_the_first_call(tmp_path: Path) -> None:
    samples = [{"id": str(n), "answer": text} for n, text in enumerate(('{"a": 1}', "[]", "{a}"), start=1)]
    desk = Desk(tmp_path, [{"sample_id": str(n), "text": "{}"} for n in (1, 2, 3)], samples)
    desk.spec({"fields": "json_match", "calls": "tool_calls"})
    done = gradetrail("plan", tmp_path / "spec.yaml", "--warehouse", tmp_path / "warehouse")
    assert "scorer `fields`: the targets of 1 of 3 samples are no JSON, such as `{a}`" in done.err
    assert 'scorer `calls`: the targets of 2 of 3 samples are no tool calls, such as `{"a": 1}`' in done.err


def test_a_schema_that_is_none_costs_no_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    desk = Desk(tmp_path, [{"sample_id": "1", "text": "{}"}])
    desk.write("schema.json", '{"type": "strin"}')
    desk.spec({"s": {"type": "json_schema", "schema": "schema.json"}})
    done = gradetrail("run", "spec.yaml")
    assert (done.code, "$.type: 'strin' is not valid" in done.err, "scorers.s.schema" in done.err) == (
        2,
        True,
        True,
    )
    assert not (tmp_path / "warehouse").exists()


def test_a_run_can_be_graded_again_where_the_schema_file_is_gone(own_desk: Desk) -> None:
    (own_desk.folder / "schema.json").unlink()
    done = gradetrail("score", "latest", "--force", "--warehouse", own_desk.folder / "warehouse")
    assert done.code == 0, done.err
    assert board(own_desk, "mean")["schema", "score", "good"] == (pytest.approx(2 / 3),)
