"""What is said about the work never ends the work."""

from __future__ import annotations

import json
import os

from gradetrail.cli.output import say
from tests.cli.command import gradetrail
from tests.pipeline.lab import Lab


def test_talk_to_a_reader_that_is_gone_is_dropped() -> None:
    read, write = os.pipe()
    with open(write, "w", encoding="utf-8") as stream:
        os.close(read)
        say("half way", stream)
        say("done", stream)


def test_score_says_in_plain_words_what_it_did(lab: Lab) -> None:
    lab.write()
    gradetrail("run", "spec.yaml")
    assert gradetrail("score", "spec.yaml").err == "nothing to grade: 1 scorer of 1 run was up to date\n"
    assert gradetrail("score", "spec.yaml", "--force").err == "graded 6 answers by 1 scorer of 1 run\n"
    lab.write(scorer=None, scorers={"numeric": {"type": "numeric"}, "strict": {"type": "exact"}})
    gradetrail("run", "spec.yaml", "--new", "--limit", "1")
    assert gradetrail("score", "spec.yaml").err == (
        "graded 6 answers by 1 scorer of 1 run; 2 scorers of 2 runs were up to date\n"
    )


def test_import_says_one_run_and_several_runs(lab: Lab) -> None:
    lab.write()
    gradetrail("run", "spec.yaml", "--limit", "1")
    err = gradetrail("import", "warehouse", "--warehouse", "other").err
    assert ": 1 trial, 1 answer that was not stored\n" in err
    assert err.endswith("warehouse: 1 run that was not there\n")
    again = gradetrail("import", "warehouse", "--warehouse", "other").err
    assert again.endswith("warehouse: 0 runs that were not there\n")


def test_import_says_which_names_mean_another_run_than_before(lab: Lab) -> None:
    lab.write()
    assert gradetrail("run", "spec.yaml", "--tag", "main", "--tag", "own", "--warehouse", "here").code == 0
    assert gradetrail("run", "spec.yaml", "--tag", "main", "--tag", "new", "--warehouse", "there").code == 0
    old, new = (
        json.loads(gradetrail("show", "runs", "--format", "json", "--warehouse", name).raw)[0]["run_id"]
        for name in ("here", "there")
    )
    assert " now mean" not in gradetrail("import", "here", "--warehouse", "empty").err
    err = gradetrail("import", "there", "--warehouse", "here").err
    assert err.splitlines()[-1] == f"`latest`, `sums@latest` and `sums@main` now mean {new}"
    for name, run_id in (("main", new), ("latest", new), ("own", old)):
        shown = json.loads(
            gradetrail("show", "runs", f"sums@{name}", "--format", "json", "--warehouse", "here").raw
        )
        assert [row["run_id"] for row in shown] == [run_id]
    # an older one moves nothing, nor does one that is there
    for source, target in (("there", "here"), ("empty", "there")):
        assert " now mean" not in gradetrail("import", source, "--warehouse", target).err
