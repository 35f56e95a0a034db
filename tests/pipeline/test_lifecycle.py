"""What extends a run, what makes a new one and says why, and what flags choose."""

from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from gradetrail import pipeline
from gradetrail.errors import ResumeError, SelectionError
from gradetrail.warehouse import Warehouse
from tests.cli.command import gradetrail
from tests.pipeline.lab import SIX, Lab, chat
from tests.servers import Reply

BOARD = "select model, prompt, n, mean, run_id from leaderboard order by all"


# ---- growing


def test_another_model_extends_the_run_and_asks_only_for_itself(lab: Lab) -> None:
    first = lab.run(lab.spec(model=lab.model(name="m1")))
    both = lab.spec(model=None, models=[lab.model(name="m1"), lab.model(name="m2")])
    assert lab.forecast(both).todo.n_requests == 6
    more = lab.run(both)
    assert (more.run_id, more.is_new, more.differences) == (first.run_id, False, ())
    assert {call.body["model"] for call in lab.api.calls[6:]} == {"m2"}
    assert lab.api.n_calls == 12
    assert lab.row("select models, n_trials, n_answered from runs") == {
        "models": ["openai_compatible/m1", "openai_compatible/m2"], "n_trials": 12, "n_answered": 12,
    }  # fmt: skip


def test_more_samples_extend_the_run_and_ask_only_for_themselves(lab: Lab) -> None:
    lab.data(SIX[:4])
    first = lab.run()
    lab.data(SIX)
    more = lab.run()
    assert (more.run_id, more.is_new, lab.api.n_calls) == (first.run_id, False, 6)
    assert lab.row("select n, n_samples from leaderboard") == {"n": 6, "n_samples": 6}


def test_a_run_narrowed_to_a_model_or_a_prompt_does_its_part_and_the_rest_later(lab: Lab) -> None:
    parts: dict[str, Any] = {
        "model": None, "models": [lab.model(name="m1"), lab.model(name="m2")],
        "prompt": None, "prompts": {"a": "{{ question }}", "b": "Think. {{ question }}"},
    }  # fmt: skip
    spec = lab.spec(**parts)
    one = lab.run(spec, models=("openai_compatible/m1",), prompts=("b",))
    assert lab.api.n_calls == 6
    assert lab.calls(lambda: lab.run(spec, models=("openai_compatible/m2",))) == 12
    whole = lab.run(spec)
    assert (whole.run_id, whole.status, lab.api.n_calls) == (one.run_id, "complete", 24)
    assert lab.row("select n_trials, n_answered, prompts from runs") == {
        "n_trials": 24, "n_answered": 24, "prompts": ["a", "b"],
    }  # fmt: skip


# ---- what makes a new run


def changed(lab: Lab, **parts: Any) -> tuple[pipeline.Run, int]:
    before = lab.api.n_calls
    run = lab.run(lab.spec(**parts))
    return run, lab.api.n_calls - before


def test_why_compares_with_the_stored_answer_of_the_same_epoch_and_counts_the_rest(lab: Lab) -> None:
    lab.run(lab.spec(epochs=2))
    lab.write(epochs=2, prompt="Think. {{ question }}")
    told = gradetrail("plan", "spec.yaml", "--why", "--show", "0").err.splitlines()
    reasons = [line for line in told if "nearest stored" in line]
    assert len(reasons) == 5
    assert not any("epoch 1 ->" in line or "epoch 2 ->" in line for line in reasons)
    assert told[-1] == "and 7 more"


def test_a_changed_row_makes_a_new_run_that_names_the_field_and_keeps_what_fits(lab: Lab) -> None:
    first = lab.run()
    lab.data(
        [
            {**row, "question": "What is 9+9? [[gold=18]]", "target": "18"} if row["id"] == "s2" else row
            for row in SIX
        ]
    )
    second, n_calls = changed(lab)
    assert (second.is_new, n_calls, second.progress.n_hits) == (True, 1, 5)
    assert second.differences == (
        'sample s2: question "What is 2+2? [[gold=4]]" -> "What is 9+9? [[gold=18]]", target "4" -> "18"',
    )
    assert second.run_id != first.run_id
    assert lab.row("select n, mean, run_id from leaderboard") == {
        "n": 6,
        "mean": 1.0,
        "run_id": second.run_id,
    }


def test_a_changed_target_makes_a_new_run_without_a_call(lab: Lab) -> None:
    lab.run()
    lab.data([{**row, "target": "0"} if row["id"] == "s2" else row for row in SIX])
    second, n_calls = changed(lab)
    assert (second.is_new, n_calls, second.differences) == (True, 0, ('sample s2: target "4" -> "0"',))
    assert lab.row("select n, n_pass from leaderboard") == {"n": 6, "n_pass": 5}


def test_samples_that_are_gone_make_a_new_run_without_them(lab: Lab) -> None:
    lab.run()
    lab.data(SIX[:4])
    second, n_calls = changed(lab)
    assert (second.is_new, n_calls) == (True, 0)
    assert second.differences == ("sample s5 is gone", "sample s6 is gone")
    assert lab.row("select n from leaderboard") == {"n": 4}


def test_many_differences_are_counted(lab: Lab) -> None:
    rows = [{"id": str(n), "question": f"{n}? [[gold=1]]", "target": "1"} for n in range(25)]
    lab.data(rows)
    lab.run()
    lab.data([{**row, "target": "2"} for row in rows])
    second, _ = changed(lab)
    assert len(second.differences) == 11
    assert second.differences[-1] == "and 15 more samples"


@pytest.mark.parametrize(
    ("parts", "difference", "n_calls"),
    [
        ({"prompt": "{{ question }} Please."}, "prompts: default.messages.0.user ", 6),
        ({"request": {"max_tokens": 64, "system": "Be brief."}}, 'request: system none -> "Be brief."', 6),
        ({"request": {"max_tokens": 9}}, "request: max_tokens 64 -> 9", 6),
        ({"dataset": {"path": "data.jsonl", "limit": 2}}, "selection: spec_limit none -> 2", 0),
    ],
)
def test_a_changed_prompt_system_or_selection_makes_a_new_run_and_says_so(
    lab: Lab, parts: dict[str, Any], difference: str, n_calls: int
) -> None:
    lab.run()
    run, asked = changed(lab, **parts)
    assert (run.is_new, asked) == (True, n_calls)
    assert len(run.differences) == 1
    assert run.differences[0].startswith(difference)
    assert lab.run(lab.spec(**parts)).differences == ()


def test_other_parameters_of_one_model_are_named_with_their_values(lab: Lab) -> None:
    models = [lab.model(name="m1"), lab.model(name="m2")]
    lab.run(lab.spec(model=None, models=models))
    models[1] = lab.model(name="m2", temperature=0.5)
    run, n_calls = changed(lab, model=None, models=models)
    assert (run.is_new, n_calls) == (True, 6)
    assert run.differences == ("model openai_compatible/m2: params.temperature none -> 0.5",)


def test_other_few_shot_examples_are_named(lab: Lab) -> None:
    shots = [{"id": f"e{n}", "question": f"{n}?", "target": str(n)} for n in range(3)]
    lab.data(shots, "shots.jsonl")
    parts = {"few_shot": {"path": "shots.jsonl", "n": 2}}
    lab.run(lab.spec(**parts))
    lab.data([{**row, "target": "9"} for row in shots], "shots.jsonl")
    run, n_calls = changed(lab, **parts)
    assert (run.is_new, n_calls) == (True, 6)
    assert len(run.differences) == 1
    assert run.differences[0].startswith("prompt default: ")


def test_going_back_finds_the_run_that_was(lab: Lab) -> None:
    first = lab.run()
    changed(lab, prompt="{{ question }} Please.")
    back, n_calls = changed(lab)
    assert (back.run_id, back.is_new, n_calls) == (first.run_id, False, 0)


def test_a_run_that_is_named_is_not_continued_with_another_plan(lab: Lab) -> None:
    first = lab.run()
    spec = lab.spec(prompt="{{ question }} Please.")
    with pytest.raises(ResumeError, match="prompts: default"):
        lab.run(spec, run_id=first.run_id)
    assert lab.api.n_calls == 6


# ---- --new, --refresh, --tag


def test_new_makes_another_run_of_stored_answers(lab: Lab) -> None:
    first = lab.run()
    second = lab.run(new=True)
    assert (second.is_new, second.run_id == first.run_id, lab.api.n_calls) == (True, False, 6)
    assert lab.row("select count(*) as n, count(distinct run_id) as runs from graded") == {"n": 12, "runs": 2}


def test_refresh_asks_again_and_the_old_board_can_be_computed_again(lab: Lab) -> None:
    first = lab.run()
    before = lab.rows("select * from run_scores where run_id = $r", r=first.run_id)
    lab.api.answer = lambda call: Reply(body=chat("Answer: 0"))
    second = lab.run(refresh=True)
    assert (second.is_new, lab.api.n_calls) == (True, 12)
    assert lab.row("select run_id, mean from leaderboard") == {"run_id": second.run_id, "mean": 0.0}
    assert lab.rows("select * from run_scores where run_id = $r", r=first.run_id) == before
    assert before[0]["mean"] == 1.0
    # the run is pinned: grading it again takes the answers that it used, not the newest
    pipeline.score(first.run_id, warehouse=lab.warehouse, force=True)
    assert lab.rows("select mean from run_scores where run_id = $r", r=first.run_id) == [{"mean": 1.0}]
    # and later runs take the newest answers
    third = lab.run(new=True)
    assert lab.api.n_calls == 12
    assert lab.rows("select mean from run_scores where run_id = $r", r=third.run_id) == [{"mean": 0.0}]


@pytest.mark.parametrize(("age", "n_asked"), [(timedelta(0), 6), (timedelta(days=1), 0)])
def test_answers_older_than_the_age_that_is_given_are_asked_for_again(
    lab: Lab, age: timedelta, n_asked: int
) -> None:
    first = lab.run()
    assert lab.calls(lambda: lab.run(max_age=age)) == n_asked
    # a run that is named is gone on with, whatever its age
    again = lab.run(run_id=first.run_id, max_age=age)
    assert (again.run_id, lab.api.n_calls) == (first.run_id, 6 + n_asked)


def test_a_refresh_that_was_cut_short_goes_on_with_answers_of_its_own_alone(lab: Lab) -> None:
    spec = lab.spec(run={"concurrency": 1, "max_retries": 0})
    lab.run(spec)
    lab.api.script(*[Reply(body=chat("Answer: 0"))] * 2, Reply(401, {"error": {"message": "no"}}))
    cut = lab.run(spec, refresh=True)
    assert lab.row(
        "select count(*) filter (status = 'answered') as n from trials where run_id = $r", r=cut.run_id
    ) == {"n": 5}
    n_before = lab.api.n_calls
    again = lab.run(spec)
    assert (again.run_id, lab.api.n_calls - n_before) == (cut.run_id, 1)
    assert lab.rows("select distinct is_hit from trials where run_id = $r", r=cut.run_id) == [
        {"is_hit": False}
    ]


def test_tags_name_a_run_and_can_be_given_later(lab: Lab) -> None:
    first = lab.run(tags=("baseline",))
    lab.run(tags=("v1",))
    with Warehouse(lab.warehouse) as opened:
        assert opened.run_id("sums@baseline") == first.run_id
        assert opened.run_id("sums@v1") == first.run_id
    assert lab.row("select tags from runs") == {"tags": ["baseline", "v1"]}


def test_a_tag_that_is_no_name_is_refused(lab: Lab) -> None:
    with pytest.raises(SelectionError, match="--tag: `a b` is no tag"):
        lab.run(tags=("a b", "fine"))
    assert lab.api.n_calls == 0
    assert not lab.warehouse.exists()


# ---- selection


def test_cases_where_and_limit_choose_samples(lab: Lab) -> None:
    ids = "select sample_id from trials where run_id = $r order by sample_id"

    def chosen(**asked: Any) -> list[str]:
        return [row["sample_id"] for row in lab.rows(ids, r=lab.run(**asked).run_id)]

    assert chosen(cases=("s5", "s2")) == ["s2", "s5"]
    assert chosen(where="cast(target as integer) > 8") == ["s5", "s6"]
    assert chosen(limit=3) == ["s1", "s2", "s3"]
    assert lab.api.n_calls == 5
    assert lab.row("select bool_and(is_limited) as all_limited, count(*) as n from runs") == {
        "all_limited": True, "n": 3,
    }  # fmt: skip


def test_a_seed_draws_the_same_samples_whatever_the_order_of_the_rows(lab: Lab) -> None:
    def drawn(seed: int) -> set[str]:
        run = lab.run(sample=3, seed=seed, new=True)
        rows = lab.rows("select sample_id from trials where run_id = $r", r=run.run_id)
        return {row["sample_id"] for row in rows}

    first = drawn(1)
    lab.data(SIX[::-1])
    assert drawn(1) == first
    assert len(first) == 3
    assert any(drawn(seed) != first for seed in range(2, 6))


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"cases": ("zz",)}, "--cases: no sample `zz`"),
        ({"where": "target = 'none'"}, "keeps no sample"),
        ({"models": ("m9",)}, "--model: no model `m9`"),
        ({"prompts": ("other",)}, "--prompt: no prompt `other`"),
    ],
)
def test_a_selection_of_nothing_is_refused(lab: Lab, asked: dict[str, Any], words: str) -> None:
    with pytest.raises(Exception, match=words):
        lab.run(**asked)
    assert lab.api.n_calls == 0
    assert not lab.warehouse.exists()


# ---- the warehouse as a folder


def test_a_warehouse_may_be_opened_from_anywhere_and_moved(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:  # H100
    lab.run()
    before = lab.rows(BOARD)
    elsewhere = lab.folder / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    with Warehouse(Path("../warehouse")) as opened:
        assert opened.rows("select count(*) from graded")[1] == [(6,)]
    moved = shutil.move(lab.warehouse, elsewhere / "moved")
    with Warehouse(moved) as opened:
        names, rows = opened.rows(BOARD)
    assert [dict(zip(names, row, strict=True)) for row in rows] == before
    spec = lab.spec()
    run = pipeline.run(spec, warehouse=moved)
    assert (run.is_new, lab.api.n_calls) == (False, 6)


def test_a_fresh_warehouse_has_every_view_empty(lab: Lab) -> None:  # H101
    from gradetrail.store import Store

    Store(lab.warehouse)
    with Warehouse(lab.warehouse) as opened:
        assert opened.leaderboard().height == 0
        for view in opened.views():
            if view != "prices":
                assert opened.rows(f'select count(*) from "{view}"')[1] == [(0,)], view


def test_a_run_goes_on_from_the_warehouse_alone(lab: Lab) -> None:
    lab.api.answer = lambda call: Reply(401, {"error": {"message": "no"}}) if call.number > 2 else None
    path = lab.write(run={"concurrency": 1})
    cut = pipeline.run(path, warehouse=lab.warehouse)
    assert lab.api.n_calls == 6
    assert lab.row("select n_answered, n_failed from runs") == {"n_answered": 2, "n_failed": 4}
    path.unlink()
    (lab.folder / "data.jsonl").unlink()
    lab.api.answer = None
    job = pipeline.job_of(lab.warehouse, "latest")
    (done,) = pipeline.generate_many([job], warehouse=lab.warehouse)
    assert (done.run_id, done.status) == (cut.run_id, "complete")
    pipeline.score("latest", warehouse=lab.warehouse)
    assert lab.row("select n, mean from leaderboard") == {"n": 6, "mean": 1.0}


def test_a_literal_header_is_asked_for_by_name_when_a_run_goes_on_alone(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.api.answer = lambda call: Reply(401, {"error": {"message": "no"}}) if call.number > 2 else None
    spec = lab.spec(model=lab.model(headers={"x-token": "tok-0123456789"}), run={"concurrency": 1})
    lab.run(spec)
    lab.api.answer = None
    job = pipeline.job_of(lab.warehouse, "latest")
    with pytest.raises(Exception, match="GRADETRAIL_HEADER_X_TOKEN is not set"):
        pipeline.generate_many([job], warehouse=lab.warehouse)
    monkeypatch.setenv("GRADETRAIL_HEADER_X_TOKEN", "tok-0123456789")
    (done,) = pipeline.generate_many([job], warehouse=lab.warehouse)
    assert done.status == "complete"
    assert {call.headers["x-token"] for call in lab.api.calls} == {"tok-0123456789"}
