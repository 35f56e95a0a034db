"""`demo` and `init`: from nothing to something that runs."""

from __future__ import annotations

import shutil
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gradetrail.cli.options import FormatOption, WarehouseOption
from gradetrail.cli.output import Format, say, write

if TYPE_CHECKING:
    from gradetrail.pipeline import Run

NEXT_STEPS = """
Now edit `extract` or `scorers` in {spec}, then:
  gradetrail score {spec} --preview    which grades would flip
  gradetrail score {spec}              grade again, without a model
  gradetrail diff --scorer strict~1,strict            what flipped
  gradetrail sql "select model, count(*) filter (where is_pass) from graded group by all\""""


def spec_folder() -> Path:
    """Find the specs that ship with gradetrail: in the wheel, or in a checkout."""
    from gradetrail.errors import Fault, GradetrailError

    package = Path(__file__).parent.parent
    for folder in (package / "_specs", package.parent / "specs"):
        if (folder / "gsm8k").is_dir():
            return folder
    raise GradetrailError(
        Fault("the demo's files are missing", str(package), fix="install the package again")
    )


class Demo(StrEnum):
    """Demos that ship with gradetrail."""

    gsm8k = "gsm8k"
    ten_tasks = "ten_tasks"


def demo(
    name: Annotated[Demo, typer.Argument(help="Which demo.")] = Demo.gsm8k,
    warehouse: WarehouseOption = None,
    form: FormatOption = Format.table,
) -> None:
    """Grade four real models on the 1,319 GSM8K test questions, offline, from recorded answers.

    `ten_tasks` instead grades three built-in models on ten small tasks; `--format json` then also gives
    pairs, calibration and perplexity, and the exit code is 1 unless `rule_based` comes first.
    """
    from gradetrail import pipeline
    from gradetrail.cli.board import print_board
    from gradetrail.cli.progress import ending, shown_progress
    from gradetrail.cli.running import exit_for

    folder = Path("specs") / name.value
    path = folder / f"{name.value}.yaml"
    if not path.exists():
        _copy_demo(spec_folder() / name.value, folder)
        say(f"copied the demo's spec and data to {folder}")
    root = pipeline.warehouse_root(warehouse)
    spec = pipeline.as_spec(path)
    with shown_progress() as observe:
        done = pipeline.run(spec, warehouse=root, invocation=pipeline.Invocation(observe=observe))
    say(f"{'new run' if done.is_new else 'run'} {done.run_id}: {done.status}, {ending(done.progress)}\n")
    if name is Demo.ten_tasks:
        _ten_tasks(root, done, form)
        return
    print_board(root, [spec.name], form)
    exit_for([done], root, 0.0, must_be_scored=True)
    say(NEXT_STEPS.format(spec=path))


def _copy_demo(source: Path, folder: Path) -> None:
    from gradetrail.errors import Fault, SelectionError

    try:
        shutil.copytree(source, folder, dirs_exist_ok=True)
    except OSError as error:
        reason = error.strerror or str(error)
        fault = Fault(f"cannot copy the demo there: {reason}", str(folder), fix="work in another folder")
        raise SelectionError(fault) from None


def _ten_tasks(root: Path, done: Run, form: Format) -> None:
    """Print the demo's report, and end with 1 unless the model that follows the rules comes first."""
    import json

    from gradetrail.cli.board import print_board, task_report
    from gradetrail.cli.running import exit_for
    from gradetrail.errors import Fault, VerdictError

    report = task_report(root, done)
    if form is Format.json:
        write(json.dumps(report, ensure_ascii=False, indent=1, allow_nan=False) + "\n", None)
    else:
        print_board(root, [done.task], form)
    exit_for([done], root, 0.0, must_be_scored=False)
    models = [row["model"] for row in report["leaderboard"]]
    if not models:
        raise VerdictError(Fault("the leaderboard is empty", "demo ten_tasks"))
    if models[0] != "rule_based":
        place = "last" if models[-1] == "rule_based" else "not first"
        raise VerdictError(Fault(f"rule_based is {place}: {', '.join(models)}", "demo ten_tasks"))


def init(
    template: Annotated[
        str, typer.Argument(help="Which spec to start from: qa, math, choice or judge.")
    ] = "qa",
    folder: Annotated[Path, typer.Option("--folder", help="Where to put it.")] = Path(),
) -> None:
    """Write a spec that runs as it is, with a small dataset, on a built-in mock model."""
    from gradetrail.errors import Fault, SelectionError, did_you_mean

    templates = spec_folder() / "templates"
    known = sorted(path.name for path in templates.iterdir() if path.is_dir())
    if template not in known:
        raise SelectionError(Fault(f"no template `{template}`", "init", fix=did_you_mean(template, known)))
    files = sorted((templates / template).iterdir())
    taken = [path.name for path in files if (folder / path.name).exists()]
    if taken:
        raise SelectionError(
            Fault(
                f"{', '.join(taken)} already there; nothing was written",
                str(folder),
                fix="give another --folder",
            )
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in files:
            shutil.copyfile(path, folder / path.name)
            say(f"wrote {folder / path.name}")
    except OSError as error:
        fault = Fault(f"cannot write there: {error.strerror}", str(folder), fix="give another --folder")
        raise SelectionError(fault) from None
    say(f"try it: gradetrail run {folder / f'{template}.yaml'}")
