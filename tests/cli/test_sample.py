"""Everything that is known of one sample, in one place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.command import gradetrail
from tests.pipeline.lab import Lab


@pytest.fixture
def twice(lab: Lab) -> Lab:
    """Two runs whose prompts differ, of two scorers."""
    scorers = {"numeric": {"type": "numeric"}, "strict": {"type": "exact"}}
    lab.write(scorer=None, scorers=scorers)
    assert gradetrail("run", "spec.yaml").code == 0
    lab.write(scorer=None, scorers=scorers, prompt="Now:\n{{ question }}")
    assert gradetrail("run", "spec.yaml").code == 0
    return lab


def test_a_sample_is_shown_with_what_was_asked_answered_and_graded_in_every_run(twice: Lab) -> None:
    done = gradetrail("show", "sample", "s2")
    assert (done.code, done.err) == (0, "")
    rows = twice.rows("from graded where sample_id = 's2'")
    assert len(rows) == 4
    for row in rows:
        assert f"{row['run_id']}  {row['model']}  prompt default  epoch 1  answered" in done.out
        assert f"  | {row['response']}\n" in done.out
    assert done.out.count("sums: sample s2\n") == 1
    question = rows[0]["sample"] if isinstance(rows[0]["sample"], dict) else json.loads(rows[0]["sample"])
    assert f"  question: {question['question']}\n" in done.out
    # both prompts, each once
    assert done.out.count(f"  [user] {question['question']}\n") == 1
    assert done.out.count(f"  [user] Now:\n  {question['question']}\n") == 1
    assert done.out.count("  numeric: 1; ") == 2 and done.out.count("  strict: ") == 2


def test_other_formats_have_a_row_for_each_grade(twice: Lab) -> None:
    done = gradetrail("show", "sample", "s2", "--format", "jsonl")
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert [(row["sample_id"], row["scorer"]) for row in rows] == [("s2", "numeric"), ("s2", "strict")] * 2
    assert len({row["messages"] for row in rows}) == 2


def test_a_failed_call_says_why_and_has_no_score(lab: Lab) -> None:
    from tests.servers import Reply

    lab.write()
    lab.api.answer = lambda _call: Reply(status=400, body={"error": {"message": "no \x1b[31msuch"}})
    gradetrail("run", "spec.yaml", "--allow-errors", "100%")
    done = gradetrail("show", "sample", "s1")
    assert done.code == 0 and "numeric: no score, provider_error" in done.out


def test_the_beginning_of_an_id_will_do_where_it_names_one(twice: Lab) -> None:
    twice.data(
        [{"id": id_, "question": "1 + 1? [[gold=2]]", "target": "2"} for id_ in ("ab", "abc", "abd", "xyz")]
    )
    twice.write("more.yaml", name="more")
    assert gradetrail("run", "more.yaml").code == 0
    assert gradetrail("show", "sample", "x").out.startswith("more: sample xyz\n")
    # a whole id, although others begin with it
    assert gradetrail("show", "sample", "ab").out.startswith("more: sample ab\n")
    several = gradetrail("show", "sample", "a")
    assert (several.code, several.out) == (2, "")
    assert "`a` begins 3 ids" in several.err and "name one of ab, abc, abd" in several.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "no sample is named"),
        (("nope",), "no sample `nope` in any run"),
        (("nope", "latest"), "no sample `nope` in 20"),
        (("s2", "nope"), "no run `nope`"),
        (("s2", "--task", "nope"), "no run of task `nope`"),
    ],
)
def test_a_sample_that_is_none_is_refused(twice: Lab, words: tuple[str, ...], said: str) -> None:
    done = gradetrail("show", "sample", *words)
    assert (done.code, done.out, said in done.err) == (2, "", True), done.err


def test_a_view_of_the_user_of_that_name_comes_first(twice: Lab) -> None:
    own = Path("warehouse/sql")
    own.mkdir()
    (own / "sample.sql").write_text("create view sample as select 42 as mine")
    assert "42" in gradetrail("show", "sample").out


def test_what_goes_with_a_view_goes_with_a_sample_too(twice: Lab) -> None:
    assert len(gradetrail("show", "sample", "s2", "--limit", "3", "--format", "jsonl").out.splitlines()) == 3
    assert gradetrail("show", "sample", "s2", "--limit", "1").out.count("  numeric: ") == 1
    assert (
        "from graded\nwhere\n    starts_with(graded.sample_id, $sample_id)"
        in gradetrail("show", "sample", "--sql").out
    )


def test_a_sample_is_shown_of_one_run_too(twice: Lab) -> None:
    first, second = (row["run_id"] for row in twice.rows("select run_id from runs order by started_at"))
    done = gradetrail("show", "sample", "s2", "latest~1")
    assert (done.code, done.err, first in done.out, second in done.out) == (0, "", True, False)
    lines = gradetrail("show", "sample", "s2", second, "--format", "jsonl").out.splitlines()
    assert [json.loads(line)["run_id"] for line in lines] == [second, second]
    # other views take one run
    done = gradetrail("show", "wrong", first, second)
    assert (done.code, done.out) == (2, "") and f"takes one run; `{second}` is too much" in done.err


def test_a_target_with_which_nothing_was_compared_is_said_once(lab: Lab) -> None:
    length = {"type": "sql", "sql": "length(text)::double", "scale": [0, 100]}
    lab.write(
        extract=None, scorer=None, scorers={"numeric": {"type": "numeric"}, "long": length, "wide": length}
    )
    assert gradetrail("run", "spec.yaml").code == 0
    grades = [
        line for line in gradetrail("show", "sample", "s2").out.splitlines() if line.startswith("  wide: ")
    ]
    assert len(grades) == 1 and "target" not in grades[0]
    assert "  numeric: 1; found 4; target 4\n" in gradetrail("show", "sample", "s2").out
