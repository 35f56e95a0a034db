"""`label`: what people said of answers."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gradetrail import pipeline
from gradetrail.dataset import Selection
from gradetrail.errors import SpecError
from gradetrail.scoring.definition import definitions
from tests.scoring.grading import spec_with
from tests.scoring.whole import Desk

ANSWERS = [
    {"sample_id": "a", "text": "4"},
    {"sample_id": "b", "text": "5"},
    {"sample_id": "c", "text": ""},
    {"sample_id": "a", "text": "four", "model": "n"},
]


def labelled(tmp_path: Path, rows: str, name: str = "labels.csv", **options: Any) -> list[tuple[Any, ...]]:
    desk = Desk(tmp_path, ANSWERS)
    desk.write(name, rows)
    desk.run({"people": {"type": "label", "file": name, **options}})
    return desk.grades("people", "sample_id, model, outcome, raw_score")


def test_a_sample_without_a_label_is_missing_and_never_wrong(tmp_path: Path) -> None:
    found = labelled(tmp_path, "sample_id,score\na,1\nc,0\n")
    assert found == [
        ("a", "m", "scored", 1.0),
        ("a", "n", "scored", 1.0),
        ("b", "m", "no_target", None),
        ("b", "n", "provider_error", None),
        ("c", "m", "scored", 0.0),
        ("c", "n", "provider_error", None),
    ]


def test_a_label_that_names_its_answer_goes_before_one_that_does_not(tmp_path: Path) -> None:
    rows = "sample_id,model,prompt,epoch,score\na,,,,0\na,n,,,0.5\na,n,default,1,1\na,n,other,1,0\n"
    assert [row[3] for row in labelled(tmp_path, rows) if row[0] == "a"] == [0.0, 1.0]


def test_the_mean_of_several_raters_counts_and_each_is_told(tmp_path: Path) -> None:
    desk = Desk(tmp_path, ANSWERS[:1])
    desk.write(
        "labels.jsonl",
        [
            {"sample_id": "a", "score": 1, "rater": "ann", "reason": "right"},
            {"sample_id": "a", "score": 0, "rater": "bob"},
            {"sample_id": "a", "score": None, "rater": "cy"},
        ],
    )
    people = {"type": "label", "file": "labels.jsonl"}
    desk.run({"people": people, "ann": {**people, "rater": "ann"}})
    assert desk.grades("people") == [("a", "scored", 0.5, "ann: 1 right; bob: 0")]
    assert desk.grades("ann") == [("a", "scored", 1.0, "ann: 1 right")]


def test_a_run_is_named_whole_by_its_beginning_or_its_last_digits(tmp_path: Path) -> None:
    desk = Desk(tmp_path, ANSWERS[:2])
    desk.run({"number": "numeric"})
    ((run_id,),) = desk.rows("select run_id from runs")
    for name in (run_id, run_id[:15], run_id[-6:]):
        desk.write("labels.csv", f"sample_id,run,score\na,{name},1\nb,20200101,1\n")
        desk.score({"people": {"type": "label", "file": "labels.csv"}})
        assert [row[2] for row in desk.grades("people")] == [1.0, None]


def test_words_and_a_scale_of_its_own(tmp_path: Path) -> None:
    rows = "sample_id\tscore\na\ttrue\nb\tNo\n"
    assert [row[3] for row in labelled(tmp_path, rows, "labels.tsv")][:3] == [1.0, 1.0, 0.0]


def test_parquet_and_a_scale(tmp_path: Path) -> None:
    desk = Desk(tmp_path, ANSWERS[:2])
    pq.write_table(pa.table({"sample_id": ["a", "b"], "score": [5, 2]}), tmp_path / "labels.parquet")
    desk.run({"people": {"type": "label", "file": "labels.parquet", "scale": [1, 5]}})
    assert desk.grades("people", "raw_score, raw_is_pass") == [(5.0, True), (2.0, False)]
    assert desk.rows("select mean, mean_worst from run_scores") == [(3.5, 3.5)]


def test_a_field_of_the_sample_is_a_label_too(tmp_path: Path) -> None:
    samples = [
        {"id": "a", "answer": "4", "human": {"ok": True}},
        {"id": "b", "answer": "4", "human": {"ok": None}},
        {"id": "c", "answer": "4"},
        {"id": "d", "answer": "4", "human": {"ok": "perhaps"}},
    ]
    desk = Desk(tmp_path, [{"sample_id": s["id"], "text": "4"} for s in samples], samples)
    desk.run({"people": {"type": "label", "field": "human.ok"}})
    assert desk.grades("people") == [
        ("a", "scored", 1.0, None),
        ("b", "no_target", None, None),
        ("c", "no_target", None, None),
        ("d", "scorer_error", None, "`perhaps` is no score"),
    ]


def test_the_contents_of_the_file_are_in_the_identity_and_its_name_is_not(tmp_path: Path) -> None:
    desk = Desk(tmp_path, ANSWERS)

    def identity(name: str, text: str, **options: Any) -> str:
        desk.write(name, text)
        (found,) = definitions(desk.spec({"people": {"type": "label", "file": name, **options}}))
        return found.scorer_id()

    base = identity("a.csv", "sample_id,score\na,1\n")
    assert identity("b.csv", "sample_id,score\na,1\n") == base
    assert (
        len(
            {
                base,
                identity("a.csv", "sample_id,score\na,0\n"),
                identity("b.csv", "sample_id,score\na,1\n", rater="x"),
            }
        )
        == 3
    )


def test_a_label_of_which_no_mean_could_be_computed_is_refused_by_line(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"labels\.csv:3.*-1e\+60 is beyond 1e\+50"):
        labelled(tmp_path, "sample_id,score\na,1e50\nb,-1e60\n", scale=None)


@pytest.mark.parametrize(
    ("rows", "place", "message"),
    [
        ("sample_id,score\na,1\nb,2\n", "labels.csv:3", "2 is not between 0 and 1"),
        ("sample_id,score\na,good\n", "labels.csv:2", "`good` is no score"),
        ("sample_id,score\na,nan\n", "labels.csv:2", "`nan` is no score"),
        ("sample_id,score\na,1e400\n", "labels.csv:2", "`1e400` is no score"),
        ("sample_id,score,epoch\na,1,first\n", "labels.csv:2", "`first` is no epoch"),
        ("name,score\na,1\n", "labels.csv:2", "needs a sample_id"),
        ("sample_id,points\na,1\n", "labels.csv:2", "needs a score"),
        ("sample_id,score\na,1\na,0\n", "labels.csv", "labelled twice: a"),
        ("", "labels.csv", "is empty"),
    ],
)
def test_a_file_that_cannot_be_read_as_labels_is_refused_by_line(
    tmp_path: Path, rows: str, place: str, message: str
) -> None:
    with pytest.raises(SpecError) as caught:
        labelled(tmp_path, rows)
    (fault, *_) = caught.value.faults
    assert (fault.where or "labels.csv", message in fault.message) == (place, True), caught.value.faults


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    desk = Desk(tmp_path, ANSWERS)
    with pytest.raises(SpecError, match=r"no such file `none\.csv`"):
        desk.run({"people": {"type": "label", "file": "none.csv"}})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "`label` needs `file`, or `field`"),
        ({"file": "a.csv", "field": "x"}, "`label` needs `file`, or `field`"),
        ({"field": "x", "rater": "ann"}, "`rater` belongs to a file"),
        ({"field": "x + 1"}, "no dotted path"),
        ({"file": "a.csv", "scale": [5, 1]}, r"`scale` is \[least, greatest\]"),
    ],
)
def test_options_that_contradict_each_other_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        spec_with({"type": "label", **options})


def test_a_run_is_graded_again_without_the_files_of_its_labels_and_functions(tmp_path: Path) -> None:
    desk = Desk(tmp_path, ANSWERS[:2])
    desk.write("labels.csv", "sample_id,score\na,1\n")
    desk.write("grade.py", "def grade(frame):\n    return [1] * frame.height\n")
    desk.run(
        {
            "people": {"type": "label", "file": "labels.csv"},
            "own": {"type": "python", "path": "grade.py"},
            "both": {"type": "combine", "of": ["people", "own"]},
        }
    )
    before = desk.rows("select scorer, scorer_id, sample_id, raw_score from graded order by all")
    for name in ("labels.csv", "grade.py", "spec.yaml", "data.jsonl", "answers.jsonl"):
        (tmp_path / name).unlink()
    done = pipeline.score("latest", warehouse=tmp_path / "warehouse", force=True)
    assert [item.n_rows for item in done] == [2, 2, 2]
    assert desk.rows("select scorer, scorer_id, sample_id, raw_score from graded order by all") == before


def written_labels(path: Path) -> None:
    """Write labels of 40,000 samples, of which the first two are there."""
    ids = ["a", "b", *(f"s{number}" for number in range(40_000))]
    rows = {
        "sample_id": ids,
        "score": [1, 0] * (len(ids) // 2),
        "reason": ["it is as it should be"] * len(ids),
    }
    if path.suffix == ".parquet":
        pq.write_table(pa.table(rows), path)
    else:
        path.write_text(
            "".join(f"{','.join(map(str, row))}\n" for row in [rows, *zip(*rows.values(), strict=True)])
        )


@pytest.mark.parametrize("name", ["labels.parquet", "labels.csv"])
def test_labels_in_parquet_and_large_files_of_them_are_kept_with_the_task(tmp_path: Path, name: str) -> None:
    desk = Desk(tmp_path, ANSWERS[:2])
    written_labels(tmp_path / name)
    assert name.endswith("parquet") or (tmp_path / name).stat().st_size > 1_000_000
    desk.run({"people": {"type": "label", "file": name}})
    before = desk.rows("select scorer_id, sample_id, raw_score, detail from graded order by all")
    (tmp_path / name).unlink()
    pipeline.score("latest", warehouse=tmp_path / "warehouse", force=True)
    assert desk.rows("select scorer_id, sample_id, raw_score, detail from graded order by all") == before
    assert [row[2] for row in before] == [1.0, 0.0]
    (record,) = (tmp_path / "warehouse" / "tasks").glob("*.json")
    assert record.stat().st_size < 1_400_000


def test_labels_too_large_to_be_kept_must_be_where_they_were(tmp_path: Path) -> None:
    desk = Desk(tmp_path, ANSWERS[:2])
    path = tmp_path / "labels.csv"
    noise = random.Random(1).randbytes(1_500_000).hex()
    path.write_text(f"sample_id,score,reason\na,1,{noise}\nb,0,\n")
    desk.run({"people": {"type": "label", "file": "labels.csv"}})
    (tmp_path / "spec.yaml").unlink()
    (again,) = pipeline.score("latest", warehouse=tmp_path / "warehouse", force=True)
    assert again.n_rows == 2
    lost = "`labels.csv` is too large to be kept with the task, and "
    path.write_text("sample_id,score\na,0\n")
    with pytest.raises(SpecError, match=f"{lost}has changed since"):
        pipeline.score("latest", warehouse=tmp_path / "warehouse", force=True)
    path.unlink()
    with pytest.raises(SpecError, match=f"{lost}is not there any more\n.*fix: put it back as it was"):
        pipeline.score("latest", warehouse=tmp_path / "warehouse", force=True)


@pytest.mark.parametrize(
    ("rows", "options", "field", "message", "fix"),
    [
        ("sample_id,modle,score\na,m,1\n", {}, "modle", "unknown column `modle`", "did you mean `model`?"),
        (
            "sample_id,score,rater\na,1,ann\nb,1,bob\n", {"rater": "anne"},
            "rater", "no label by the rater `anne`", "did you mean `ann`? known: ann, bob",
        ),
        ("sample_id,score\na,1\n", {"rater": "bob"}, "rater", "by the rater `bob`", "add the column `rater`"),
        ("sample_id,score\nnope,1\n", {}, "scorers.people.file", "1 of 1 labels match no sample", ""),
        ("sample_id,model,score\na,M,1\n", {}, "scorers.people.file", "match no model, e.g. `M`", ""),
        ("sample_id,prompt,score\na,long,1\n", {}, "scorers.people.file", "match no prompt, e.g. `long`", ""),
        ("sample_id,epoch,score\na,2,1\n", {}, "scorers.people.file", "match no epoch, e.g. `2`", ""),
    ],
)  # fmt: skip
def test_a_file_that_labels_nothing_as_it_was_meant_is_refused_before_any_call(
    tmp_path: Path, rows: str, options: dict[str, Any], field: str, message: str, fix: str
) -> None:
    with pytest.raises(SpecError) as caught:
        labelled(tmp_path, rows, **options)
    (fault,) = caught.value.faults
    assert (fault.field, message in fault.message, fix in fault.fix) == (field, True, True), fault
    assert fault.where
    assert not (tmp_path / "warehouse").exists()


def test_labels_of_which_some_match_nothing_are_told_with_counts(tmp_path: Path) -> None:
    samples = [{"sample_id": name, "text": "4"} for name in ("007", "008")]
    desk = Desk(tmp_path, samples)
    desk.write("labels.csv", "sample_id,model,score,question\n7,,1,\n008,m,1,\n9,,0,\n007,old,1,\n")
    job = pipeline.Job(desk.spec({"people": {"type": "label", "file": "labels.csv"}}), None)
    expected = (
        "scorer `people`: 2 of 4 labels match no sample, e.g. `7`; did you mean `007`?",
        "scorer `people`: 1 of 4 labels match no model, e.g. `old`",
    )
    assert pipeline.forecast(job, warehouse=tmp_path / "warehouse").plan.warnings == expected
    assert pipeline.run(job.spec, warehouse=tmp_path / "warehouse").warnings == expected


def test_labels_of_samples_that_a_limit_leaves_out_are_no_mistake(tmp_path: Path) -> None:
    desk = Desk(tmp_path, ANSWERS[:2])
    desk.write("labels.csv", "sample_id,score\nb,1\n")
    job = pipeline.Job(desk.spec({"people": {"type": "label", "file": "labels.csv"}}), None)
    one = pipeline.Invocation(selection=Selection(limit=1))
    assert pipeline.forecast(job, warehouse=tmp_path / "w", invocation=one).plan.warnings == ()


def test_a_file_in_which_nobody_has_labelled_yet_is_told(tmp_path: Path) -> None:
    desk = Desk(tmp_path, ANSWERS[:2])
    desk.write("labels.csv", "sample_id,score,response\na,,4\nb,,5\n")
    done = pipeline.run(
        desk.spec({"number": "numeric", "people": {"type": "label", "file": "labels.csv"}}),
        warehouse=tmp_path / "warehouse",
    )
    assert done.warnings == (
        "scorer `people`: labels.csv holds no label yet; every grade will be `no_target`",
    )


@pytest.mark.parametrize(("field", "near"), [("humn", "human"), ("human.scor", "score")])
def test_a_field_that_no_sample_has_is_refused_and_the_near_one_named(
    tmp_path: Path, field: str, near: str
) -> None:
    samples = [{"id": "a", "answer": "4", "human": {"score": 1}}, {"id": "b", "answer": "4"}]
    desk = Desk(tmp_path, [{"sample_id": s["id"], "text": "4"} for s in samples], samples)
    with pytest.raises(SpecError) as caught:
        desk.run({"people": {"type": "label", "field": field}})
    (fault,) = caught.value.faults
    assert fault.message == f"no sample has `{field}`"
    assert fault.field == "scorers.people.field"
    assert fault.fix.startswith(f"did you mean `{near}`?")


def test_a_field_that_is_empty_everywhere_is_told(tmp_path: Path) -> None:
    samples = [{"id": "a", "answer": "4", "human": None}]
    desk = Desk(tmp_path, [{"sample_id": "a", "text": "4"}], samples)
    done = pipeline.run(
        desk.spec({"number": "numeric", "people": {"type": "label", "field": "human"}}),
        warehouse=tmp_path / "warehouse",
    )
    assert done.warnings == ("scorer `people`: none of 1 samples has a label in `human`",)
