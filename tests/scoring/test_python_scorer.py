"""`python`: a function of the user's over a frame of answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gradetrail.errors import SpecError
from gradetrail.scoring.definition import definitions
from tests.scoring.whole import Desk

SAMPLES = [
    {"id": "a", "answer": "4", "level": 1},
    {"id": "b", "answer": "5", "level": 2},
    {"id": "c", "answer": "6"},
]
ANSWERS = [
    {"sample_id": "a", "text": "It is 4."},
    {"sample_id": "b", "text": "It is 4.", "stop_reason": "length"},
    {"sample_id": "c", "text": ""},
]


def desk_with(folder: Path, source: str) -> Desk:
    desk = Desk(folder, ANSWERS, SAMPLES)
    desk.write("grade.py", source)
    return desk


def found(folder: Path, source: str, **options: Any) -> list[tuple[Any, ...]]:
    desk = desk_with(folder, source)
    desk.run({"s": {"type": "python", "path": "grade.py", **options}})
    return [row[1:] for row in desk.grades("s")]


def test_it_sees_answers_and_dataset_in_a_frame_and_gives_a_series(tmp_path: Path) -> None:
    source = (
        "import polars as pl\n"
        "def grade(frame):\n"
        "    assert frame.columns[:2] == ['sample_id', 'model']\n"
        "    assert frame['level'].to_list() == ['1', '2', None]\n"
        "    return frame.select(pl.col('text').str.contains(pl.col('answer'))).to_series()\n"
    )
    assert [row[:2] for row in found(tmp_path, source)] == [("scored", 1.0), ("scored", 0.0), ("scored", 0.0)]


def test_a_list_is_a_series_and_none_says_why_there_is_no_score(tmp_path: Path) -> None:
    source = "def mark(frame):\n    return [1, None, None]\n"
    assert [row[:2] for row in found(tmp_path, source, function="mark")] == [
        ("scored", 1.0),
        ("truncated", None),
        ("empty", None),
    ]


def test_a_frame_says_what_was_found_why_and_further_metrics(tmp_path: Path) -> None:
    source = (
        "import polars as pl\n"
        "def grade(frame):\n"
        "    return frame.select(score=pl.Series([1.0, 0.5, None]), extracted='answer', detail='model',\n"
        "        clear=pl.Series([True, None, False]), length=pl.col('text').str.len_chars() / 10)\n"
    )
    desk = desk_with(tmp_path, source)
    desk.run({"s": {"type": "python", "path": "grade.py"}})
    assert desk.grades("s", "sample_id, metric, outcome, raw_score, extracted, detail") == [
        ("a", "clear", "scored", 1.0, None, None),
        ("a", "length", "scored", 0.8, None, None),
        ("a", "score", "scored", 1.0, "4", "m"),
        ("b", "length", "scored", 0.8, None, None),
        ("b", "score", "scored", 0.5, "5", "m"),
        ("c", "clear", "empty", None, None, "m"),
        ("c", "length", "empty", None, None, "m"),
        ("c", "score", "empty", None, None, "m"),
    ]


def test_what_it_raises_is_on_every_row_with_the_line(tmp_path: Path) -> None:
    source = "def help(frame):\n    return frame['nothing']\n\ndef grade(frame):\n    return help(frame)\n"
    rows = found(tmp_path, source)
    assert {row[:2] for row in rows} == {("scorer_error", None)}
    (told,) = {row[2] for row in rows}
    assert "ColumnNotFoundError" in told
    assert told.endswith("(grade.py:2)")


def test_a_function_that_ends_the_program_is_a_fault_of_every_row(tmp_path: Path) -> None:
    rows = found(tmp_path, "import sys\n\ndef grade(frame):\n    sys.exit(3)\n")
    assert [row[0] for row in rows] == ["scorer_error"] * 3


def test_what_it_prints_goes_to_stderr_since_stdout_is_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = (
        "print('loaded')\ndef grade(frame):\n    print('graded', len(frame))\n    return [1] * len(frame)\n"
    )
    assert len(found(tmp_path, source)) == 3
    said = capsys.readouterr()
    assert "graded" not in said.out
    assert "loaded" not in said.out
    assert "loaded\ngraded 3\n" in said.err


def test_a_score_outside_its_scale_is_an_error_of_its_row(tmp_path: Path) -> None:
    rows = found(tmp_path, "def grade(frame):\n    return [0.5, 7, float('nan')]\n")
    assert rows[0][:2] == ("scored", 0.5)
    assert rows[1] == ("scorer_error", None, "the score 7 is outside the scorer's `scale` of 0 to 1")
    assert rows[2] == ("scorer_error", None, "the score nan is no number")


def test_a_score_or_metric_of_which_no_mean_could_be_computed_is_an_error_of_its_row(tmp_path: Path) -> None:
    source = (
        "import polars as pl\n"
        "def grade(frame):\n"
        "    return pl.DataFrame({'score': [1.0, -1e308, 1.0], 'm': [1e50, 1.0, float('-inf')]})\n"
    )
    desk = desk_with(tmp_path, source)
    desk.run({"s": {"type": "python", "path": "grade.py", "scale": None}})
    assert desk.grades("s", "metric, raw_score, outcome, detail") == [
        ("m", 1e50, "scored", None),
        ("score", 1.0, "scored", None),
        *[
            (metric, None, "scorer_error", f"the {told}")
            for told in (
                "score -1e+308 is beyond 1e+50: no mean of such can be computed",
                "metric `m` -inf is no number",
            )
            for metric in ("m", "score")
        ],
    ]


def test_a_scale_and_a_direction_of_its_own(tmp_path: Path) -> None:
    desk = desk_with(tmp_path, "def grade(frame):\n    return [3, 9, None]\n")
    desk.run({"s": {"type": "python", "path": "grade.py", "scale": [0, 10], "lower_is_better": True}})
    assert desk.grades("s", "score, is_pass") == [(3.0, True), (9.0, False), (10.0, False)]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def grade(frame):\n    return [1]\n", r"grade\.py: grade: gave 1 rows for 3 answers"),
        ("def grade(frame):\n    return [1, 10**400, 1]\n", "gave a list in which something is no number"),
        ("def grade(frame):\n    return 1\n", r"grade\.py: grade: gave a int"),
        (
            "def grade(frame):\n    return frame['text']\n",
            r"the column `score` is String, which is no number",
        ),
        ("def grade(frame):\n    return frame.select('text')\n", "gave a frame without `score`"),
        ("def other(frame):\n    return 1\n", r"no function `grade` in grade\.py"),
        ("def grade(frame:\n", r"grade\.py:1: scorers\.s\.path: not valid Python"),
    ],
)
def test_a_function_of_the_wrong_shape_is_a_fault_that_names_it(
    tmp_path: Path, source: str, message: str
) -> None:
    with pytest.raises(SpecError, match=message):
        found(tmp_path, source)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    desk = Desk(tmp_path, ANSWERS, SAMPLES)
    with pytest.raises(SpecError, match=r"no such file `grade\.py`"):
        desk.run({"s": {"type": "python", "path": "grade.py"}})


def test_the_source_is_in_the_identity_and_the_path_is_not(tmp_path: Path) -> None:
    desk = Desk(tmp_path, ANSWERS, SAMPLES)

    def identity(name: str, source: str) -> str:
        desk.write(name, source)
        (one,) = definitions(desk.spec({"s": {"type": "python", "path": name}}))
        return one.scorer_id()

    base = identity("a.py", "def grade(f):\n    return [1, 1, 1]\n")
    assert identity("b.py", "def grade(f):\n    return [1, 1, 1]\n") == base
    assert identity("a.py", "def grade(f):\n    return [0, 1, 1]\n") != base


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import no_such_module\n\ndef grade(frame):\n    return []\n", "No module named 'no_such_module'"),
        ("LIMIT = int('x')\n\ndef grade(frame):\n    return []\n", "ValueError: invalid literal"),
        ("grade = 5\n", "no function `grade`"),
    ],
)
def test_a_file_that_does_not_load_is_refused_before_any_call(
    tmp_path: Path, source: str, message: str
) -> None:
    desk = Desk(tmp_path, [{"sample_id": "a", "text": "4"}])
    desk.write("grade.py", source)
    with pytest.raises(SpecError) as caught:
        desk.run({"own": {"type": "python", "path": "grade.py"}})
    (fault,) = caught.value.faults
    assert (message in fault.message, bool(fault.fix)) == (True, True), fault
    assert fault.where.startswith(str(tmp_path / "spec.yaml"))
    assert not (tmp_path / "warehouse").exists()
