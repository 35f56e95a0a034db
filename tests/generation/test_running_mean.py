"""The mean so far, which progress tells while answers come."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gradetrail import pipeline
from gradetrail.cli.progress import summary
from gradetrail.generation.progress import Mean, Progress
from gradetrail.pipeline import Invocation, running_mean
from tests.pipeline.lab import Lab, chat, lab_in, question_of
from tests.servers import Call, Reply

N = 60


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    monkeypatch.setattr(running_mean, "EVERY_S", 0.05)
    with lab_in(tmp_path) as opened:
        opened.data([{"id": f"s{k}", "question": f"q{k}", "target": str(k)} for k in range(N)])
        yield opened


class Watcher:
    """Holds the last replies back until a mean of the answers before them has been told."""

    def __init__(self, n_first: int) -> None:
        self.n_first = n_first
        self.means: dict[tuple[str, str], Mean] = {}
        self.lines: list[str] = []
        self._known = threading.Event()

    def observe(self, progress: Progress) -> None:
        if sum(mean.n for mean in progress.means.values()) >= self.n_first:
            self.means, self.lines = dict(progress.means), [*self.lines, summary(progress)]
            self._known.set()

    def wait(self) -> None:
        assert self._known.wait(60), "no mean was told"


def run(lab: Lab, watcher: Watcher, **parts: Any) -> pipeline.Run:
    parts = {"run": {"concurrency": 4}, "scorer": "exact", "extract": None, **parts}
    invocation = Invocation(observe=watcher.observe)
    return pipeline.run(lab.spec(**parts), warehouse=lab.warehouse, invocation=invocation)


def held_after(watcher: Watcher, n_first: int, text: Any) -> Any:
    """Answer at once at first; then only when the mean of all the answers before is known."""

    def answer(call: Call) -> Reply:
        if call.number > n_first:
            watcher.wait()
        return Reply(body=chat(text(question_of(call))))

    return answer


@pytest.mark.parametrize(
    ("unanswered", "expected"), [("wrong", Mean(0.25, 40)), ("exclude", Mean(1 / 3, 30))]
)
def test_the_mean_so_far_is_the_boards_mean_of_the_answers_so_far(
    lab: Lab, unanswered: str, expected: Mean
) -> None:
    # of four answers one is right, two are wrong, and one is empty
    def text(question: str) -> str:
        k = int(question[1:])
        return str(k) if k % 4 == 0 else "" if k % 4 == 1 else "no"

    watcher = Watcher(expected.n)
    lab.api.answer = held_after(watcher, 40, text)
    done = run(lab, watcher, unanswered=unanswered)
    (told,) = watcher.means.values()
    assert told == Mean(pytest.approx(expected.value), expected.n)
    assert f"mean {expected.value:.3f} of {expected.n}" in watcher.lines[0]
    (board,) = lab.rows("select mean from run_scores where run_id = $run", run=done.run_id)
    assert board["mean"] == pytest.approx(expected.value)


def test_each_entrant_has_its_own_mean(lab: Lab) -> None:
    watcher = Watcher(40)

    def answer(call: Call) -> Reply:
        if call.number > 40:
            watcher.wait()
        question = question_of(call)
        return Reply(body=chat(question[1:] if call.body["model"] == "good" else "no"))

    lab.api.answer = answer
    models = [lab.model(name="good"), lab.model(name="bad")]
    lab.data([{"id": f"s{k}", "question": f"q{k}", "target": str(k)} for k in range(30)])
    run(lab, watcher, models=models, run={"concurrency": 1})
    values = {model: mean.value for (model, _), mean in watcher.means.items()}
    assert values == {"openai_compatible/good": 1.0, "openai_compatible/bad": 0.0}
    assert "mean openai_compatible/bad 0.000, openai_compatible/good 1.000 of 40" in watcher.lines[0]


def test_a_scorer_that_is_dear_tells_no_mean(lab: Lab) -> None:
    told: list[bool] = []

    class Never(Watcher):
        def observe(self, progress: Progress) -> None:
            told.append(bool(progress.means) or progress.answered is not None)

    run(lab, Never(0), scorer="rouge_l")
    assert told
    assert not any(told)


def test_to_generate_tells_no_mean(lab: Lab) -> None:
    told: list[bool] = []

    def observe(progress: Progress) -> None:
        told.append(bool(progress.means) or progress.answered is not None)

    pipeline.generate(lab.spec(), warehouse=lab.warehouse, invocation=Invocation(observe=observe))
    assert told
    assert not any(told)


def test_a_mean_that_cannot_be_told_ends_no_run(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    tried = threading.Event()

    def fail(*_: Any) -> None:
        tried.set()
        raise RuntimeError("broken")

    monkeypatch.setattr(running_mean, "rendered_inputs", fail)
    lab.api.answer = lambda call: Reply(body=chat("4")) if call.number <= 40 or tried.wait(60) else None
    assert run(lab, Watcher(1)).status == "complete"
    assert tried.is_set()


def test_of_many_entrants_the_line_tells_the_range() -> None:
    progress = Progress(n_requests=10, n_done=3)
    progress.means = {(f"m{k}", "default"): Mean(k / 10, 2) for k in range(5)}
    assert "means 0.000 to 0.400 of 5 entrants, 10 answers" in summary(progress)
    progress.means = {("m", "a"): Mean(0.5, 2), ("m", "b"): Mean(0.25, 3)}
    assert "mean m / a 0.500, m / b 0.250 of 5" in summary(progress)
