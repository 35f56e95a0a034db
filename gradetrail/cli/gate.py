"""`gate`: the verdict for CI, printed for people, programs, pull requests and test reports."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from gradetrail.cli.cells import escaped, plain
from gradetrail.cli.options import OutputOption, WarehouseOption
from gradetrail.cli.output import Format, check_output, formatted, say, tell_damage, write

Record = Mapping[str, Any]


class GateFormat(StrEnum):
    """How a verdict is printed."""

    text = "text"
    json = "json"
    markdown = "markdown"
    junit = "junit"


class Allowed(StrEnum):
    """What may differ between two runs that are gated."""

    prompt = "prompt"
    scorer = "scorer"


def gate(
    base: Annotated[str, typer.Argument(help="Run that is good: id, task@TAG, latest~1, a bundle's path.")],
    new: Annotated[str, typer.Argument(help="Run to judge.")],
    max_drop: Annotated[
        list[str] | None,
        typer.Option(
            "--max-drop",
            help="What a mean may lose: 0.02, or 5% of the base's; SCORER=0.02 or TASK/SCORER=5% for one."
            " May be repeated. [default: 0]",
        ),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="End with 4 where there is no evidence.")] = False,
    allow_errors: Annotated[
        str, typer.Option("--allow-errors", help="Share of errors on a side up to which it is judged.")
    ] = "5%",
    significance: Annotated[
        float, typer.Option("--significance", min=0, max=1, help="Highest corrected p that is evidence.")
    ] = 0.05,
    allow: Annotated[
        list[Allowed] | None, typer.Option("--allow", help="Judge although this differs; may be repeated.")
    ] = None,
    warehouse: WarehouseOption = None,
    form: Annotated[GateFormat, typer.Option("--format", help="How to print the verdict.")] = GateFormat.text,
    output: OutputOption = None,
) -> None:
    """Judge whether a run is worse than another: the verdict for CI.

    Ends with 1 if a mean drops by more than is allowed and an exact test says that this is no chance,
    with 3 if the runs do not compare or have too many errors, with 0 (4 if --strict) if a drop has no
    evidence.
    """
    from gradetrail import sql
    from gradetrail.cli.query import open_runs, warehouse_folder
    from gradetrail.cli.running import parse_share
    from gradetrail.warehouse.gate import RANGES, Limits, Scale, parse_limits

    check_output(output)
    default, own = parse_limits(max_drop or ())
    limits = Limits(
        default, own, parse_share(allow_errors), significance, frozenset(item.value for item in allow or ())
    )
    with open_runs(warehouse_folder(warehouse), base, new) as opened:
        query, params = opened.gate_query(base, new, limits)
        names, rows = opened.rows(query, params)
        _, ranges = opened.rows(sql.text_of(RANGES), {"run_id": params["b_run"]})
        tell_damage(opened)
    found = [dict(zip(names, row, strict=True)) for row in rows]
    limits.check_names((row["task"], row["scorer"], row["metric"]) for row in found)
    limits.check_ranges({(task, scorer): Scale(width, share) for task, scorer, width, share in ranges})
    verdict = str(found[0]["gate"]) if found else "unusable"
    if params["a_run"] == params["b_run"]:
        say(f"note: both sides are {params['a_run']}: nothing changed since")
    told = _blocking(found) if strict else found
    if form is GateFormat.text:
        printed = _text(verdict, params["a_run"], params["b_run"], told, output)
    else:
        printed = PRINTERS[form](verdict, params["a_run"], params["b_run"], told)
    write(printed, output)
    _end(verdict, found, strict=strict)


def _blocking(rows: Sequence[Record]) -> list[Record]:
    """Mark what is undecided as what blocks: a test report then shows a failure."""
    return [{**row, "is_blocking": row["verdict"] == "undecided"} for row in rows]


def _end(verdict: str, rows: Sequence[Record], *, strict: bool) -> None:
    """End with the verdict's exit code, naming on stderr every row that has a part in it."""
    from gradetrail.errors import Fault, UndecidedError, UnusableError, VerdictError

    def faults(*verdicts: str, fix: str = "") -> list[Fault]:
        return [
            Fault(f"{row['verdict']}: {_told(row)}", title(row), fix=fix)
            for row in rows
            if row["verdict"] in verdicts
        ]

    for fault in faults("added", "removed"):
        say(f"note: {fault}")
    undecided = faults("undecided", fix="more samples or epochs give more evidence")
    if verdict == "fail":
        raise VerdictError(*faults("fail"))
    if verdict == "unusable":
        what = faults("not comparable", "errors") or [Fault("nothing to judge: the runs share no grade")]
        raise UnusableError(*what)
    if verdict == "undecided":
        if strict:
            raise UndecidedError(*undecided)
        for fault in undecided:
            say(f"warning: {fault}")


def title(row: Record) -> str:
    """Name what a row is about: scorer, metric, model and prompt of both sides."""
    scorer = row["scorer"] if row["metric"] == "score" else f"{row['scorer']}:{row['metric']}"
    model = _arrow(row["model"], row["b_model"])
    prompt = _arrow(row["prompt"], row["b_prompt"])
    return f"{scorer} {model}" + ("" if prompt == "default" else f" {prompt}")


def _arrow(a: str, b: str | None) -> str:
    return a if b in (None, a) else f"{a} -> {b}"


def _told(row: Record) -> str:
    """Say in a line what the numbers are, and the reason if there is one."""
    numbers = ""
    if row["mean_drop"] is not None and row["verdict"] in ("fail", "undecided", "pass"):
        share = f" ({abs(row['relative_drop']):.2%})" if row["relative_drop"] is not None else ""
        change = f"{'lost' if row['mean_drop'] > 0 else 'gained'} {abs(row['mean_drop']):.6g}{share}"
        numbers = f"{row['base_mean']:.6g} -> {row['new_mean']:.6g}, {change}, allowed {limit_of(row)}"
        if row["p_holm"] is not None:
            numbers += f", p {row['p_holm']:.3g}"
    return "; ".join(part for part in (numbers, row["reason"]) if part)


def limit_of(row: Record) -> str:
    """Give a row's limit as the user would write it; empty if it is not gated."""
    if row["max_drop"] is None:
        return ""
    return f"{100 * row['max_drop']:g}%" if row["is_relative"] else f"{row['max_drop']:g}"


def _columns(rows: Sequence[Record]) -> tuple[list[str], list[list[Any]]]:
    has_metrics = any(row["metric"] != "score" for row in rows)
    has_prompts = any(row["prompt"] != "default" for row in rows)
    names = ["verdict", "scorer", *(["metric"] if has_metrics else ()), "model"]
    names += [*(["prompt"] if has_prompts else ()), "base", "new", "drop", "allowed", "worse", "better", "n"]
    names += ["p", "reason"]
    cells = [
        {
            **row,
            "model": _arrow(row["model"], row["b_model"]),
            "prompt": _arrow(row["prompt"], row["b_prompt"]),
            "base": row["base_mean"],
            "new": row["new_mean"],
            "drop": row["mean_drop"],
            "allowed": limit_of(row),
            "worse": row["n_worse"],
            "better": row["n_better"],
            "n": row["n_shared"],
            "p": row["p_holm"],
        }
        for row in rows
    ]
    return names, [[cell[name] for name in names] for cell in cells]


def _text(verdict: str, base: str, new: str, rows: Sequence[Record], output: Path | None) -> str:
    return f"{verdict}: {base} -> {new}\n" + formatted(*_columns(rows), Format.table, output)


def _markdown(verdict: str, base: str, new: str, rows: Sequence[Record]) -> str:
    return f"**gate: {verdict}** `{base}` → `{new}`\n\n" + formatted(*_columns(rows), Format.markdown)


def _json(verdict: str, base: str, new: str, rows: Sequence[Record]) -> str:
    body = [
        {name: plain(value) for name, value in row.items() if name not in ("gate", "is_blocking")}
        for row in rows
    ]
    whole = {"gate": verdict, "base": base, "new": new, "rows": body}
    return json.dumps(whole, ensure_ascii=False, indent=1) + "\n"


def _junit(verdict: str, base: str, new: str, rows: Sequence[Record]) -> str:
    """Write one test case for each row: an error if it could not be judged, skipped if undecided."""
    import xml.etree.ElementTree as ET

    kinds = {"fail": "failure", "not comparable": "error", "errors": "error", "undecided": "skipped"}
    kinds |= dict.fromkeys(("added", "removed", "not gated"), "skipped")
    found = ["failure" if row.get("is_blocking") else kinds.get(row["verdict"], "") for row in rows]
    counts = {
        "tests": len(rows),
        "failures": found.count("failure"),
        "errors": found.count("error") + (not rows),
        "skipped": found.count("skipped"),
    }
    suite = ET.Element("testsuite", {"name": "gradetrail gate", **{k: str(v) for k, v in counts.items()}})
    listed = ET.SubElement(suite, "properties")
    for name, value in (("gate", verdict), ("base", base), ("new", new)):
        ET.SubElement(listed, "property", {"name": name, "value": _safe(value)})
    if not rows:
        case = ET.SubElement(suite, "testcase", {"classname": "gate", "name": "comparison"})
        ET.SubElement(case, "error", {"message": "nothing to judge", "type": "unusable"})
    for row, kind in zip(rows, found, strict=True):
        names = {"classname": _safe(row["task"]), "name": _safe(title(row))}
        case = ET.SubElement(suite, "testcase", names)
        message = _safe(f"{row['verdict']}: {_told(row)}")
        if kind:
            attributes = {"message": message} if kind == "skipped" else {
                "message": message, "type": row["verdict"],
            }  # fmt: skip
            ET.SubElement(case, kind, attributes)
        else:
            ET.SubElement(case, "system-out").text = message
    suites = ET.Element("testsuites")
    suites.append(suite)
    ET.indent(suites)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(suites, encoding="unicode") + "\n"


def _safe(text: str) -> str:
    """Give text that XML 1.0 can hold: control characters are shown, lone surrogates replaced."""
    shown = escaped(text).encode("utf-8", "replace").decode("utf-8")
    return "".join(char if char.isprintable() or char == " " else "\ufffd" for char in shown)


PRINTERS = {
    GateFormat.json: _json,
    GateFormat.markdown: _markdown,
    GateFormat.junit: _junit,
}
