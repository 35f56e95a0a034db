"""`show --help-views` and `--as-of`, and runs by name in `sql`."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from gradetrail import sql
from gradetrail.cli.query import parse_moment
from gradetrail.cli.views import prose_table
from gradetrail.errors import SelectionError
from tests.cli.command import Done, gradetrail
from tests.pipeline.lab import Lab

EARLY, LATE = "20260101T000000Z-sums-00000a", "20260201T000000Z-sums-00000b"


def rows(done: Done) -> list[dict[str, str]]:
    assert done.code == 0, done.err
    found: list[dict[str, str]] = json.loads(done.raw)
    return found


# ---- --help-views


def test_every_view_is_listed_with_what_it_says_and_needs_no_warehouse() -> None:
    listed = {row["view"]: row for row in rows(gradetrail("show", "--help-views", "--format", "json"))}
    assert set(listed) == {*sql.names("views"), *sql.names("base")}
    assert all(row["says"] and row["one_row_per"] for row in listed.values())
    assert listed["leaderboard"] == {
        "view": "leaderboard",
        "says": "The board of every task: who is best, by how much, and how sure that is.",
        "one_row_per": "(task, model, prompt, scorer, metric)",
        "arguments": None,
    }
    assert str(listed["gate"]["arguments"]).startswith("a_run, b_run, max_drop")


def test_no_sentence_is_cut_where_no_terminal_is(lab: Lab) -> None:
    for words in (("show", "--help-views"), ("show", "audit", "--help-views")):
        told = rows(gradetrail(*words, "--format", "json"))
        gradetrail(*words, "--output", "told.txt")
        for text in (gradetrail(*words).out, (lab.folder / "told.txt").read_text()):
            lines = text.splitlines()
            assert len(lines) == len(told) + 2
            for row, line in zip(told, lines[2:], strict=True):
                assert all((cell or "") in line for cell in row.values())


def test_a_sentence_goes_on_in_the_next_line_of_a_narrow_terminal() -> None:
    table = prose_table(["view", "says"], [["runs", "one two three four five"], ["mine", None]], 18)
    assert table == "view  says\n────  ────────────\nruns  one two\n      three four\n      five\nmine\n"


@pytest.mark.parametrize(
    ("view", "column"), [("leaderboard", "mean"), ("trials", "epoch"), ("gate", "verdict")]
)
def test_a_view_is_told_column_by_column(view: str, column: str) -> None:
    done = gradetrail("show", view, "--help-views", "--format", "json")
    told = {row["column"]: row for row in rows(done)}
    assert told[column]["type"]
    assert told[column]["says"]
    assert sql.summary_of(f"{'base' if view == 'trials' else 'views'}/{view}") in done.err


def test_views_of_the_users_own_are_told_too_and_an_unknown_one_is_refused(lab: Lab) -> None:
    lab.write()
    gradetrail("run", "spec.yaml")
    folder = lab.warehouse / "sql"
    folder.mkdir()
    (folder / "easy.sql").write_text(
        "-- What is easy.\ncreate view easy as select sample_id from graded where is_pass"
    )
    listed = {
        row["view"]: row["says"] for row in rows(gradetrail("show", "--help-views", "--format", "json"))
    }
    assert listed["easy"] == "What is easy."
    told = rows(gradetrail("show", "easy", "--help-views", "--format", "json"))
    assert told == [{"column": "sample_id", "type": "VARCHAR", "says": None}]
    done = gradetrail("show", "leaderbord", "--help-views")
    assert (done.code, "did you mean `leaderboard`?" in done.err) == (2, True)


# ---- --as-of


@pytest.fixture
def two_runs(lab: Lab) -> Lab:
    """Two runs of one task, a month apart: what a run_id says is when it began."""
    lab.write()
    for run_id, wrong in ((EARLY, 0), (LATE, 3)):
        gradetrail("run", "spec.yaml", "--new", "--limit", str(6 - wrong))
        (made,) = [path for path in (lab.warehouse / "runs").glob("*.json") if path.stem not in (EARLY, LATE)]
        rename(lab, made.stem, run_id)
    return lab


def rename(lab: Lab, old: str, new: str) -> None:
    """Give a run another id, as if it had begun at another time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from gradetrail.store.segments import read, writing

    for table in ("trials", "scores", "responses", "calls"):
        for path in (lab.warehouse / table).glob(f"{old}*"):
            data = read(path, table)
            notes = pq.read_schema(path).metadata
            for name in {"run_id", "response_run_id"} & set(data.column_names):
                values = [new if value == old else value for value in data.column(name).to_pylist()]
                data = data.set_column(data.column_names.index(name), name, pa.array(values, pa.string()))
            with (lab.warehouse / table / path.name.replace(old, new)).open("wb") as file:
                writing(
                    table, [data], {key.decode(): value.decode() for key, value in (notes or {}).items()}
                )(file)
            path.unlink()
    path = lab.warehouse / "runs" / f"{old}.json"
    began = datetime.strptime(new[:16], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC).isoformat()
    record = {**json.loads(path.read_text()), "run_id": new, "started_at": began}
    (lab.warehouse / "runs" / f"{new}.json").write_text(json.dumps(record))
    path.unlink()


def test_a_warehouse_is_shown_as_of_a_day_or_a_moment(two_runs: Lab) -> None:
    for moment, runs in (
        ("2025-12-31", []),
        ("2026-01-01", [EARLY]),
        ("2026-01-01T00:00:00Z", [EARLY]),
        ("2026-02-01T01:00:00+02:00", [EARLY]),
        ("2026-02-01", [EARLY, LATE]),
    ):
        for view in ("runs", "run_scores", "trials"):
            found = rows(gradetrail("show", view, "--as-of", moment, "--format", "json"))
            assert sorted({row["run_id"] for row in found}) == runs, (view, moment)


def test_the_board_is_what_it_was(two_runs: Lab) -> None:
    now = gradetrail("show", "--format", "json")
    then = gradetrail("show", "--as-of", "2026-01-15", "--format", "json")
    assert [row["run_id"] for row in rows(then)] == [EARLY]
    assert [row["n_trials"] for row in rows(then)] == [6]
    assert [row["run_id"] for row in rows(now)] == [LATE]
    assert rows(gradetrail("leaderboard", "--as-of", "2026-01-15", "--format", "json")) == rows(then)
    assert "6" in gradetrail("show", "--as-of", "2026-01-15").out
    latest = rows(gradetrail("show", "runs", "latest", "--as-of", "2026-01-15", "--format", "json"))
    assert [row["run_id"] for row in latest] == [EARLY]


def test_what_is_no_moment_is_refused() -> None:
    with pytest.raises(SelectionError, match="is neither a date nor a time"):
        parse_moment("yesterday")
    assert parse_moment("2026-11-30") == datetime(2026, 11, 30, 23, 59, 59, tzinfo=UTC)
    assert parse_moment("2026-11-30T08:31") == datetime(2026, 11, 30, 8, 31, tzinfo=UTC)
    assert parse_moment(None) is None


# ---- sql --run


def test_a_query_names_runs_as_every_command_does(two_runs: Lab) -> None:
    query = "select change, count(*) as n from diff($a, $b) group by change order by change"
    done = gradetrail("sql", query, "--run", "a=latest~1", "--run", f"b={LATE[-6:]}", "--format", "json")
    assert rows(done) == [{"change": "one_sided", "n": 3}, {"change": "same", "n": 3}]
    done = gradetrail("sql", "select $a as a", "--run", "a=nothing")
    assert (done.code, "no run `nothing`" in done.err) == (2, True)
    assert gradetrail("sql", "select 1", "--run", "latest").code == 2
