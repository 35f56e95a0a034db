"""A folder in which a spec is run with recorded answers, of which so many are wrong."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cli.command import Done, gradetrail


@dataclass
class Workshop:
    """A spec, its questions and its recorded answers."""

    folder: Path
    n: int = 0

    def questions(self, n: int) -> None:
        """Write n questions whose answers are 1 to n."""
        self.n = n
        self._rows(
            "data.jsonl", [{"id": f"s{k}", "question": f"{k} + 1?", "target": str(k + 1)} for k in range(n)]
        )

    def spec(self, **parts: Any) -> None:
        """Write the spec; parts that are None are left out."""
        whole = {
            "name": "sums", "dataset": "data.jsonl", "prompt": "{{ question }}", "target": "{{ target }}",
            "scorer": "exact", "model": {"model": "replay/m", "answers": "answers.jsonl"}, **parts,
        }  # fmt: skip
        text = json.dumps({key: value for key, value in whole.items() if value is not None})
        (self.folder / "spec.yaml").write_text(text)

    def answers(self, wrong: int, *, missing: int = 0) -> None:
        """Record answers: the first ones are wrong, the last ones are missing and so will fail."""
        self._rows(
            "answers.jsonl",
            [
                {"sample_id": f"s{k}", "text": "no idea" if k < wrong else str(k + 1)}
                for k in range(self.n - missing)
            ],
        )

    def run(self, *flags: str) -> str:
        """Run the spec and give the run's id."""
        done = gradetrail("run", "spec.yaml", "--allow-errors", "100%", *flags)
        assert done.code == 0, done.err
        return self.ids()[-1]

    def ids(self, warehouse: str = "warehouse") -> list[str]:
        """List the runs of a warehouse."""
        query = "select run_id from runs order by started_at, run_id"
        done = gradetrail("sql", query, "--warehouse", warehouse, "--format", "json")
        assert done.code == 0, done.err
        return [row["run_id"] for row in json.loads(done.raw)]

    def gate(self, base: str, new: str, *flags: str) -> Done:
        return gradetrail("gate", base, new, *flags)

    def _rows(self, file: str, rows: list[dict[str, Any]]) -> None:
        (self.folder / file).write_text("".join(json.dumps(row) + "\n" for row in rows))
