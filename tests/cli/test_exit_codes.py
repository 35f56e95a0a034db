"""What the exit code of a command means, and that stdout is data and stderr is talk."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.command import gradetrail
from tests.pipeline.lab import SIX, Lab, chat, question_of
from tests.servers import Call, Reply


def failing(*numbers: int) -> Any:
    """Answer with 400 where the question is one of these."""

    def answer(call: Call) -> Reply | None:
        is_hit = any(f"What is {n}+{n}?" in question_of(call) for n in numbers)
        return Reply(400, {"error": {"message": "no"}}) if is_hit else None

    return answer


def test_0_is_done(lab: Lab) -> None:
    lab.write()
    done = gradetrail("run", "spec.yaml")
    assert (done.code, lab.api.n_calls) == (0, 6)
    assert "error" not in done.err
    assert gradetrail("show").code == gradetrail("generate", "spec.yaml").code == 0


def test_1_is_a_verdict_of_no_and_the_board_is_printed_all_the_same(lab: Lab) -> None:
    lab.write()
    good = gradetrail("run", "spec.yaml", "--fail-on", "mean < 0.9", "--fail-on", "n_errors > 0")
    assert good.code == 0
    bad = gradetrail("run", "spec.yaml", "--fail-on", "mean <= 1")
    assert bad.code == 1
    assert "mean <= 1: numeric of openai_compatible/m1 / default has mean 1.0" in bad.err
    assert bad.out == good.out


def test_2_is_a_fault_of_the_spec(lab: Lab) -> None:
    lab.write(prompt="{{ questio }}")
    done = gradetrail("run", "spec.yaml")
    assert (done.code, done.raw, lab.api.n_calls) == (2, b"", 0)


@pytest.mark.parametrize(("allowed", "code"), [("5%", 3), ("0.33", 3), ("34%", 0), ("100%", 0)])
def test_3_is_more_errors_than_are_allowed(lab: Lab, allowed: str, code: int) -> None:
    lab.api.answer = failing(2, 5)
    lab.write()
    done = gradetrail("run", "spec.yaml", "--allow-errors", allowed)
    assert done.code == code
    assert ("2 of 6 trials ended in an error (33.3%)" in done.err) is (code == 3)
    assert "sums: numeric" in done.out
    generated = gradetrail("generate", "spec.yaml", "--allow-errors", allowed)
    assert generated.code == code


def test_what_a_filter_stops_or_the_window_is_too_small_for_is_no_error(lab: Lab) -> None:
    def filtered(call: Call) -> Reply | None:
        is_hit = "What is 2+2?" in question_of(call)
        return Reply(400, {"error": {"message": "no", "code": "content_filter"}}) if is_hit else None

    lab.api.answer = filtered
    lab.write()
    assert gradetrail("run", "spec.yaml", "--allow-errors", "0").code == 0


def test_3_is_a_run_that_was_aborted_and_says_how_to_go_on(lab: Lab) -> None:
    lab.api.answer = lambda call: Reply(401, {"error": {"message": "bad key"}})
    lab.write(run={"concurrency": 1})
    done = gradetrail("run", "spec.yaml")
    assert (done.code, lab.api.n_calls) == (3, 5)
    assert "aborted: 5 requests failed in the same way and none succeeded: HTTP 401: bad key" in done.err
    assert (
        f"mend that, then go on with: gradetrail run {lab.row('select run_id from runs')['run_id']}"
        in done.err
    )
    assert done.err.count("fix: ") == 1
    assert "--allow-errors" not in done.err


def test_a_run_of_which_every_call_failed_says_so_once(lab: Lab) -> None:
    lab.api.answer = lambda call: Reply(400, {"error": {"message": f"no {question_of(call)}"}})
    lab.write()
    done = gradetrail("run", "spec.yaml", "--limit", "3")
    assert (done.code, done.err.count("fix: ")) == (3, 1)
    assert "all 3 trials ended in an error" in done.err
    assert "gradetrail show errors 2" in done.err
    assert "--allow-errors" not in done.err


def test_3_is_a_result_with_nothing_in_it(lab: Lab) -> None:
    lab.api.answer = lambda call: Reply(body=chat("I do not know."))
    lab.write()
    done = gradetrail("run", "spec.yaml")
    assert done.code == 3
    assert "nothing was scored" in done.err
    assert f"gradetrail show graded {lab.row('select run_id from runs')['run_id']}" in done.err


FAILING = {
    "sql": {"type": "sql", "sql": "1 / (length(text) - length(text))::int"},
    "python": {"type": "python", "path": "grade.py"},
}


@pytest.mark.parametrize("kind", FAILING)
def test_3_is_grading_that_failed_by_run_and_by_score_alike(lab: Lab, kind: str) -> None:
    (lab.folder / "grade.py").write_text("def grade(frame):\n    raise ValueError('no')\n")
    lab.write(scorer=None, scorers={"z": FAILING[kind]})
    ran = gradetrail("run", "spec.yaml")
    (run_id,) = lab.row("select run_id from runs").values()
    for command in (["score", "spec.yaml", "--force"], ["score", "spec.yaml"], ["score", str(run_id)]):
        done = gradetrail(*command, "--allow-errors", "0")
        assert (ran.code, done.code) == (3, 3), command
        for text in ("nothing was scored", "6 of 6 grades by `z` failed (100.0%)"):
            assert text in ran.err
            assert text in done.err
    assert gradetrail("score", "spec.yaml", "--allow-errors", "100%").code == 3


def test_score_allows_as_many_failed_grades_as_it_is_told(lab: Lab) -> None:
    one_fails = "(case when text like '%12%' then 'none' else '1' end)::double"
    lab.write(scorer=None, scorers={"z": {"type": "sql", "sql": one_fails}})
    gradetrail("run", "spec.yaml")
    n_failed = lab.row("select count(*) as n from graded where outcome = 'scorer_error'")["n"]
    assert n_failed == 1
    for allowed, code in (("5%", 3), ("20%", 0)):
        assert gradetrail("score", "spec.yaml", "--force", "--allow-errors", allowed).code == code


def test_an_old_run_in_which_every_call_failed_does_not_fail_the_grading_of_others(lab: Lab) -> None:
    lab.api.answer = lambda call: Reply(400, {"error": {"message": "no"}})
    lab.write()
    assert gradetrail("run", "spec.yaml").code == 3
    assert gradetrail("score", "spec.yaml").code == 3
    lab.api.answer = lambda call: None
    assert gradetrail("run", "spec.yaml", "--new").code == 0
    assert gradetrail("score", "spec.yaml").code == 0


def test_stdout_is_one_document_and_all_talk_is_on_stderr(lab: Lab) -> None:
    lab.data([{"id": f"s{n}", "question": f"{n}? [[gold=1]]", "target": "1"} for n in range(3)])
    lab.api.script(Reply(500, {"error": {"message": "boom"}}))
    lab.write(epochs=2, request={"temperature": 0})
    done = gradetrail("run", "spec.yaml", "--format", "json")
    assert [row["n"] for row in json.loads(done.raw)] == [6]
    assert "retried server 1" in done.err
    assert "warning: openai_compatible/m1: 2 epochs at temperature 0" in done.err
    plan = gradetrail("plan", "spec.yaml", "--format", "json", "--show", "2")
    assert [row["hits"] for row in json.loads(plan.raw)] == [6]
    assert "[user] 0? [[gold=1]]" in plan.err
    preview = gradetrail("score", "spec.yaml", "--preview", "--format", "json")
    assert json.loads(preview.raw) == []
    diff = gradetrail("diff", "latest", "latest", "--format", "json")
    assert json.loads(diff.raw) == []


def test_a_preview_tells_epochs_apart_and_how_much_more_there_is(lab: Lab) -> None:
    lab.write(epochs=2)
    assert gradetrail("run", "spec.yaml").code == 0
    nothing = gradetrail("score", "spec.yaml", "--preview")
    assert (nothing.raw, nothing.err) == (b"", "no grade would change (12 trials of 1 run)\n")
    lab.write(epochs=2, extract="no such thing (.+)")
    done = gradetrail("score", "spec.yaml", "--preview")
    assert "12 trials of 1 run, graded anew:\n" in done.err
    assert "10 of 12 are shown; `--format csv` has them all" in done.err
    assert done.out.splitlines()[0].split()[3:6] == ["sample_id", "epoch", "target"]


def test_nothing_on_stdout_for_generate(lab: Lab) -> None:
    lab.write()
    done = gradetrail("generate", "spec.yaml")
    assert (done.code, done.raw) == (0, b"")
    assert "complete, 6/6 requests" in done.err


def test_targets_that_cannot_be_graded_are_said_before_the_first_call(lab: Lab) -> None:
    lab.data([{**row, "target": {"s1": "abc", "s2": None}.get(row["id"], row["target"])} for row in SIX])
    lab.write()
    lab.api.answer = lambda call: Reply(401, {"error": {"message": "no"}})
    done = gradetrail("run", "spec.yaml")
    assert done.err.splitlines()[:2] == [
        "warning: scorer `numeric`: 1 of 6 samples have no target; they are asked but not graded",
        "warning: scorer `numeric`: the targets of 1 of 6 samples hold no number, such as `abc`",
    ]
    assert gradetrail("plan", "spec.yaml", "--show", "0").err.startswith("warning: scorer `numeric`")


def test_3_is_more_grades_that_failed_than_are_allowed(lab: Lab) -> None:
    lab.data([{**row, "target": "abc" if row["id"] == "s1" else row["target"]} for row in SIX])
    lab.write()
    done = gradetrail("run", "spec.yaml")
    assert done.code == 3
    assert "1 of 6 grades by `numeric` failed (16.7%)" in done.err
    assert gradetrail("generate", "spec.yaml").code == 0
    assert gradetrail("run", "spec.yaml", "--allow-errors", "20%").code == 0
