"""What the handwritten pages show is true: their examples run, their words are the product's."""

import re
from pathlib import Path

import pytest

import gradetrail as gt
from gradetrail.cli.start import spec_folder
from gradetrail.scorer_spec import NAMED_RULES
from gradetrail.spec import PARAMETERS, PROVIDERS, Dataset, Model, RunKnobs, spec_from
from gradetrail.yaml_source import Source

DOCS = Path(__file__).resolve().parents[2] / "docs"


def blocks(page: str, kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", (DOCS / page).read_text(), re.MULTILINE | re.DOTALL)


def test_the_python_page_runs_from_top_to_bottom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    imports, first, second = blocks("python.md", "python")
    for text in (imports, first):
        exec(text, names)
    again = gt.Invocation(options=gt.Options(new=True))
    exec(
        first.replace('warehouse="warehouse"', 'warehouse="warehouse", invocation=again'),
        names | {"again": again},
    )
    exec(second, names)
    run = names["run"]
    assert isinstance(run, gt.Run)
    assert run.board()["n_pass"].to_list() == [1]


def test_the_first_example_of_the_spec_page_loads(tmp_path: Path) -> None:
    value = Source(tmp_path / "spec.yaml", blocks("spec.md", "yaml")[0]).value
    assert spec_from(value).name == "gsm8k"


@pytest.mark.parametrize(
    "words",
    [
        Dataset.model_fields,
        RunKnobs.model_fields,
        [name for name in PARAMETERS if name != "extra"],
        PROVIDERS,
        ["base_url", "endpoint", "revision", "api_key_env", "headers", "body", "reply", "answers", "epochs"],
        [path.name for path in (spec_folder() / "templates").iterdir()],
    ],
    ids=["dataset", "run", "parameters", "providers", "models", "templates"],
)
def test_the_spec_page_names_every_key(words: list[str]) -> None:
    page = (DOCS / "spec.md").read_text()
    assert [word for word in words if word not in page] == []


def test_the_scorers_page_names_every_rule_of_extraction() -> None:
    page = (DOCS / "scorers.md").read_text()
    assert [rule for rule in (*NAMED_RULES, "regex") if f"`{rule}`" not in page] == []
    assert "max_tokens" in Model.model_fields
