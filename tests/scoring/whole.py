"""A folder with a dataset, recorded answers and a warehouse, to grade in from start to end."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gradetrail import pipeline
from gradetrail.scoring.planner import Graded
from gradetrail.spec import Spec, load_spec
from gradetrail.warehouse import Warehouse

Row = dict[str, Any]


class Desk:
    """Grades the answers of the model `m` (and of others that `answers` name) to samples."""

    def __init__(self, folder: Path, answers: Sequence[Row], samples: Sequence[Row] | None = None) -> None:
        self.folder = folder
        names = dict.fromkeys(str(answer["sample_id"]) for answer in answers)
        self.write("data.jsonl", samples or [{"id": name, "answer": "4"} for name in names])
        self.write("answers.jsonl", [{"model": "m", **answer} for answer in answers])
        self.models = list(dict.fromkeys(str(answer.get("model", "m")) for answer in answers))

    def write(self, name: str, rows: Sequence[Mapping[str, Any]] | str) -> Path:
        path = self.folder / name
        text = rows if isinstance(rows, str) else "".join(json.dumps(row) + "\n" for row in rows)
        path.write_text(text, encoding="utf-8")
        return path

    def spec(self, scorers: Mapping[str, Any], **parts: Any) -> Spec:
        whole = {
            "name": "t",
            "dataset": "data.jsonl",
            "prompt": "Sample {{ id }}",
            "target": "{{ answer }}",
            "models": [{"model": f"replay/{m}", "as": m, "answers": "answers.jsonl"} for m in self.models],
            "scorers": scorers,
            **parts,
        }
        text = json.dumps({key: value for key, value in whole.items() if value is not None}, indent=1)
        return load_spec(self.write("spec.yaml", text))

    def run(self, scorers: Mapping[str, Any], **parts: Any) -> None:
        """Answer and grade."""
        pipeline.run(self.spec(scorers, **parts), warehouse=self.folder / "warehouse")

    def score(self, scorers: Mapping[str, Any], **parts: Any) -> dict[str, int]:
        """Grade again by other scorers; give the rows that were written for each."""
        graded: list[Graded] = pipeline.score(
            self.spec(scorers, **parts), warehouse=self.folder / "warehouse"
        )
        return {item.scorer: item.n_rows for item in graded}

    def rows(self, query: str, **params: Any) -> list[tuple[Any, ...]]:
        with Warehouse(self.folder / "warehouse") as opened:
            return opened.rows(query, params)[1]

    def grades(
        self, scorer: str, columns: str = "sample_id, outcome, raw_score, detail"
    ) -> list[tuple[Any, ...]]:
        """Give the stored grades by a scorer, in the order of the samples."""
        query = (
            f"select {columns} from graded where scorer = $scorer order by sample_id, model, epoch, metric"
        )
        return self.rows(query, scorer=scorer)
