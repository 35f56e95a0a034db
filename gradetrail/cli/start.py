"""`demo` and `init`: from nothing to something that runs."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer

from gradetrail.cli.options import WarehouseOption
from gradetrail.cli.output import Format, say

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


def demo(warehouse: WarehouseOption = None) -> None:
    """Grade four real models on the 1,319 GSM8K test questions, offline, from recorded answers."""
    from gradetrail import pipeline
    from gradetrail.cli.board import print_board
    from gradetrail.cli.progress import shown_progress, summary

    folder = Path("specs/gsm8k")
    if not (folder / "gsm8k.yaml").exists():
        shutil.copytree(spec_folder() / "gsm8k", folder, dirs_exist_ok=True)
        say(f"copied the demo's spec and data to {folder}")
    root = pipeline.warehouse_root(warehouse)
    spec = pipeline.as_spec(folder / "gsm8k.yaml")
    with shown_progress() as observe:
        done = pipeline.run(spec, warehouse=root, invocation=pipeline.Invocation(observe=observe))
    say(f"{'new run' if done.is_new else 'run'} {done.run_id}: {done.status}, {summary(done.progress)}\n")
    print_board(root, spec.name, Format.table)
    say(NEXT_STEPS.format(spec=f"{folder}/gsm8k.yaml"))


def init(
    template: Annotated[str, typer.Argument(help="Which spec to start from: qa, math or choice.")] = "qa",
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
    folder.mkdir(parents=True, exist_ok=True)
    for path in files:
        shutil.copyfile(path, folder / path.name)
        say(f"wrote {folder / path.name}")
    say(f"try it: gradetrail run {folder / f'{template}.yaml'}")
