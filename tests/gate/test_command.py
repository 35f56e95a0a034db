"""What `gradetrail gate` prints and how it ends."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import pytest

from gradetrail.cli.gate import PRINTERS, GateFormat
from tests.cli.command import gradetrail
from tests.gate.workshop import Workshop


def test_a_run_that_is_no_worse_passes_and_a_planted_regression_fails(shop: Workshop) -> None:
    base = shop.run("--tag", "main")
    assert shop.gate("sums@main", "latest", "--max-drop", "0.02").code == 0
    shop.answers(wrong=16)
    new = shop.run()
    done = shop.gate("sums@main", "latest", "--max-drop", "0.02")
    assert done.code == 1
    assert done.out.startswith(f"fail: {base} -> {new}\n")
    assert "exact replay/m: fail: 0.9 -> 0.6, lost 0.3 (33.33%), allowed 0.02, p 0.000488" in done.err
    assert shop.gate("latest", "sums@main").code == 0


def test_a_drop_without_evidence_warns_and_is_4_if_strict(shop: Workshop) -> None:
    shop.run("--tag", "main")
    shop.answers(wrong=7)
    shop.run()
    done = shop.gate("sums@main", "latest", "--max-drop", "0.02")
    assert (done.code, done.out.partition(":")[0]) == (0, "undecided")
    assert "warning: exact replay/m: undecided" in done.err
    assert "3 worse, 0 better of 40 is no evidence" in done.err
    assert shop.gate("sums@main", "latest", "--max-drop", "0.02", "--strict").code == 4
    assert shop.gate("sums@main", "latest", "--max-drop", "0.02", "--significance", "1").code == 1
    assert shop.gate("sums@main", "latest", "--max-drop", "10%", "--strict").code == 0


def test_another_prompt_more_errors_and_fewer_samples_are_3(shop: Workshop) -> None:
    shop.run("--tag", "main")
    shop.run("--limit", "20")
    done = shop.gate("sums@main", "latest")
    assert (done.code, "other samples: 20 of 40 are on one side only" in done.err) == (3, True)
    shop.answers(wrong=4, missing=3)
    shop.run()
    done = shop.gate("sums@main", "latest")
    assert (done.code, "errors in 3 of 40" in done.err) == (3, True)
    assert shop.gate("sums@main", "latest", "--allow-errors", "10%").code == 0
    shop.answers(wrong=4)
    shop.spec(prompt="{{ question }} Think.")
    shop.run()
    done = shop.gate("sums@main", "latest")
    assert (done.code, "other prompt: 40 of 40 are asked otherwise" in done.err) == (3, True)
    assert shop.gate("sums@main", "latest", "--allow", "prompt").code == 0


def test_another_definition_of_a_scorer_is_3(shop: Workshop) -> None:
    shop.run("--tag", "main")
    shop.spec(scorer={"type": "exact", "normalize": ["strip", "lower"]})
    shop.run("--new")
    done = shop.gate("sums@main", "latest")
    assert (done.code, "other scorer version: 1 in the base, 2 now" in done.err) == (3, True)
    assert gradetrail("score", "spec.yaml").code == 0
    assert shop.gate("sums@main", "latest").code == 0


def test_entrants_that_come_and_go_are_named(shop: Workshop) -> None:
    model = {"answers": "answers.jsonl"}
    shop.spec(model=None, models=[{"model": "replay/m", **model}, {"model": "replay/old", **model}])
    shop.run("--tag", "main")
    shop.spec(model=None, models=[{"model": "replay/m", **model}, {"model": "replay/new", **model}])
    shop.run("--new")
    done = shop.gate("sums@main", "latest")
    assert done.code == 0
    assert "note: exact replay/old: removed: not in the new run" in done.err
    assert "note: exact replay/new: added: not in the base" in done.err


def test_each_scorer_has_its_own_limit(shop: Workshop) -> None:
    shop.spec(scorer=None, scorers={"strict": "exact", "loose": "includes"})
    shop.run("--tag", "main")
    shop.answers(wrong=16)
    shop.run()
    done = shop.gate("sums@main", "latest", "--max-drop", "sums/loose=50%", "--format", "json")
    verdicts = {row["scorer"]: row["verdict"] for row in json.loads(done.raw)["rows"]}
    assert (done.code, verdicts) == (0, {"loose": "pass", "strict": "not gated"})
    done = shop.gate("sums@main", "latest", "--max-drop", "0.5", "--max-drop", "strict:score=0.1")
    assert done.code == 1
    assert "exact" not in done.err
    assert "strict replay/m: fail" in done.err


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--max-drop", "lots"), "`lots` is no limit"),
        (("--max-drop", "-0.1"), "`-0.1` is no limit"),
        (("--max-drop", "nan"), "`nan` is no limit"),
        (("--max-drop", "exakt=0.1"), "no scorer `exakt` in these runs\n    fix: did you mean `exact`?"),
        (("--allow-errors", "7"), "`7` is no share"),
        (("--output", "no/such/folder.xml"), "its folder does not exist"),
    ],
)
def test_bad_flags_are_2_before_anything_is_printed(
    shop: Workshop, flags: tuple[str, ...], message: str
) -> None:
    shop.run()
    done = shop.gate("latest", "latest", *flags)
    assert (done.code, done.raw) == (2, b"")
    assert message in done.err


def test_runs_of_two_tasks_are_refused(shop: Workshop) -> None:
    shop.run()
    shop.spec(name="others")
    shop.run()
    done = shop.gate("sums@latest", "others@latest")
    assert (done.code, "is a run of task `sums`" in done.err) == (2, True)


def test_json_holds_every_number_and_the_verdict(shop: Workshop) -> None:
    base = shop.run()
    whole = json.loads(shop.gate(base, base, "--format", "json").raw)
    (row,) = whole.pop("rows")
    assert whole == {"gate": "pass", "base": base, "new": base}
    assert (row["base_mean"], row["new_mean"], row["mean_drop"], row["max_drop"]) == (0.9, 0.9, 0.0, 0.0)
    assert row["n_shared"] == 40


def test_a_pull_request_gets_a_markdown_table(shop: Workshop) -> None:
    base = shop.run()
    shop.gate(base, base, "--format", "markdown", "--output", "gate.md")
    text = (shop.folder / "gate.md").read_text()
    assert text.startswith(f"**gate: pass** `{base}` → `{base}`\n\n| verdict | scorer | model |")


HOSTILE = "</failure><x a='\"&]]>"


def test_junit_is_one_case_for_each_entrant_and_scorer_whatever_their_names(shop: Workshop) -> None:
    model = {"answers": "answers.jsonl"}
    shop.spec(
        model=None, models=[{"model": "replay/m", **model}, {"model": "replay/n", "as": HOSTILE, **model}]
    )
    shop.run("--tag", "main")
    shop.answers(wrong=16)
    shop.run()
    done = shop.gate("sums@main", "latest", "--format", "junit", "--output", "gate.xml")
    assert done.code == 1
    (suite,) = ET.parse(shop.folder / "gate.xml").getroot()
    assert suite.attrib | {"tests": "2", "failures": "2", "errors": "0", "skipped": "0"} == suite.attrib
    cases = suite.findall("testcase")
    assert {case.get("classname") for case in cases} == {"sums"}
    assert sorted(str(case.get("name")) for case in cases)[0].startswith("exact </failure><x a='\"&]]>")
    assert all(case[0].tag == "failure" and "lost 0.3" in str(case[0].get("message")) for case in cases)


def test_junit_shows_what_xml_cannot_hold(shop: Workshop) -> None:
    base = shop.run()
    (row,) = json.loads(shop.gate(base, base, "--format", "json").raw)["rows"]
    for bad in ("\x00", "\x1b[31m", "\ud800", "\ufffe", "\u0085", "\u202e"):
        text = PRINTERS[GateFormat.junit](
            "fail", base, base, [{**row, "verdict": "fail", "model": f"m{bad}"}]
        )
        (suite,) = ET.fromstring(text.encode())
        (case,) = suite.findall("testcase")
        assert str(case.get("name")).isprintable()


def test_junit_says_error_for_what_cannot_be_judged_and_skipped_for_what_is_undecided(shop: Workshop) -> None:
    shop.run("--tag", "main")
    shop.answers(wrong=7)
    shop.run()
    shop.run("--limit", "20")

    def tags(base: str, new: str, *flags: str) -> list[str]:
        (suite,) = ET.fromstring(shop.gate(base, new, "--format", "junit", *flags).raw)
        return [case[0].tag for case in suite.findall("testcase")]

    assert tags("sums@main", "latest~1") == ["skipped"]
    assert tags("sums@main", "latest~1", "--strict") == ["failure"]
    assert tags("sums@main", "latest") == ["error"]


def test_a_limit_that_no_drop_can_exceed_is_refused(shop: Workshop) -> None:
    shop.run("--tag", "main")
    shop.answers(wrong=16)
    shop.run()
    for limit, says in (
        ("2", "`2`: no mean can drop by more than 1 here"),
        ("1", "`1`: no mean can drop by more than 1 here"),
        ("exact=5", "`exact=5`: no mean can drop by more than 1 here"),
        ("sums/exact=1.5", "`sums/exact=1.5`: no mean can drop by more than 1 here"),
        ("200%", "`200%`: no mean can lose more than 100 %"),
        ("100%", "`100%`: no mean can lose more than 100 %"),
    ):
        done = shop.gate("sums@main", "latest", "--max-drop", limit)
        assert (done.code, says in done.err) == (2, True), done.err
        assert "fix: write " in done.err
    for limit in ("0.99", "99%", "exact=0.5"):
        assert shop.gate("sums@main", "latest", "--max-drop", limit).code == 0


def test_a_mean_of_which_less_is_better_can_lose_more_than_all_of_it(shop: Workshop) -> None:
    shop.spec(scorer={"type": "edit_distance", "measure": "distance", "unit": "character"})
    shop.answers(wrong=1)
    shop.run("--tag", "main")
    shop.answers(wrong=16)
    shop.run()
    assert shop.gate("sums@main", "latest", "--max-drop", "300%").code == 1
    assert shop.gate("sums@main", "latest", "--max-drop", "3000%").code == 0


def test_a_limit_that_is_stated_twice_is_refused(shop: Workshop) -> None:
    shop.run("--tag", "main")
    shop.run("--new")
    for pair in (("exact=0.5", "exact=0.01"), ("0.5", "1%")):
        done = shop.gate("sums@main", "latest", "--max-drop", pair[0], "--max-drop", pair[1])
        assert (done.code, "has a limit already" in done.err) == (2, True), done.err
