"""Many random data sets as rows of one warehouse, so that one query measures them all."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa

from gradetrail.store import Live
from gradetrail.store.schema import TABLES, arrow_schema
from gradetrail.warehouse.catalog import Catalog

Row = dict[str, Any]


class World:
    """Rows to be graded and measured; a run, a task or a model stands for one data set."""

    def __init__(self) -> None:
        self._trials: list[Row] = []
        self._scores: list[Row] = []
        self._runs: dict[str, Row] = {}
        self._scorers: dict[str, Row] = {}
        self._tasks: dict[str, dict[str, str]] = {}
        self._policies: dict[str, str] = {}

    def run(self, run_id: str, task: str, **facts: Any) -> str:
        """Begin a run; `epochs`, `cluster` and `category` say what its rows have, `unanswered` the policy."""
        self._policies[task] = facts.pop("unanswered", "wrong")
        spec = {name: name for name in ("category", "cluster") if facts.pop(name, False)}
        self._runs[run_id] = {
            "run_id": run_id,
            "task": task,
            "name": task,
            "status": "complete",
            "plan_id": "p",
            "dataset_id": "d",
            "models": {},
            "prompts": {"default": "default"},
            "epochs": 1,
            "n_samples": 0,
            "is_limited": False,
            "started_at": "2026-11-30T08:31:12+00:00",
            "spec": {"dataset": spec},
            **facts,
        }
        return run_id

    def scorer(self, scorer_id: str, **facts: Any) -> None:
        """Define a scorer whose bounds are not 0 and 1."""
        self._scorers[scorer_id] = facts

    def grade(self, run_id: str, model: str, sample_id: str, score: float | None, **facts: Any) -> None:
        """Grade one trial; NULL scores are `unparsed` unless `outcome` says otherwise."""
        run = self._runs[run_id]
        run["models"][model] = None
        scorer = facts.pop("scorer", "strict")
        key = {
            "run_id": run_id,
            "task": run["task"],
            "model": model,
            "model_id": model,
            "prompt": "default",
            "sample_id": sample_id,
            "epoch": facts.pop("epoch", 1),
        }
        if facts.pop("is_planned", True):
            trial = {
                "sample_hash": sample_id,
                "input_hash": sample_id,
                "dataset_id": "d",
                "status": "answered",
            }
            names = ("cluster", "category", "choice_order", "token_nll", "token_count")
            self._trials.append(key | trial | {name: facts.get(name) for name in names})
        self._tasks.setdefault(run["task"], {})[scorer] = scorer
        self._scores.append(
            {
                "outcome": "unparsed" if score is None else "scored",
                "is_pass": None if score is None else score >= 0.999999,
                "target": "x",
            }
            | key
            | {"scorer": scorer, "scorer_id": scorer, "metric": "score", "score": score}
            | facts
        )

    def live(self) -> Live:
        """Give everything as rows that are in no file yet."""
        scorers = {scorer for names in self._tasks.values() for scorer in names}
        usual = {"score_min": 0.0, "score_max": 1.0, "higher_is_better": True, "pass_threshold": 0.999999}
        return Live(
            files={table: [] for table in TABLES},
            loose={"trials": _arrow("trials", self._trials), "scores": _arrow("scores", self._scores)},
            manifests=[self._manifest(run) for run in self._runs.values()],
            scorers=[
                {
                    "scorer_id": scorer,
                    "definition": {"type": "exact"},
                    **usual,
                    **self._scorers.get(scorer, {}),
                }
                for scorer in scorers
            ],
            tasks=[
                {
                    "task": task,
                    "n": 1,
                    "scorers": names,
                    "primary": next(iter(names)),
                    "unanswered": self._policies[task],
                }
                for task, names in self._tasks.items()
            ],
            damaged=[],
            running=set(),
        )

    def _manifest(self, run: Row) -> Row:
        models = [{"model": m, "model_id": m, "provider": "mock", "name": m} for m in run["models"]]
        return run | {"models": models, "scorers": self._tasks[run["task"]]}

    def ask(self, *queries: str) -> list[list[Row]]:
        """Run queries on everything, each once."""
        catalog = Catalog(self.live())
        answers = []
        for query in queries:
            catalog.provide(query)
            cursor = catalog.cursor().execute(query)
            names = [column[0] for column in cursor.description]
            answers.append([dict(zip(names, row, strict=True)) for row in cursor.fetchall()])
        catalog.close()
        return answers


def _arrow(table: str, rows: list[Row]) -> pa.Table:
    schema = arrow_schema(table)
    columns = [pa.array([row.get(field.name) for row in rows], field.type) for field in schema]
    return pa.Table.from_arrays(columns, schema=schema)


class Largest:
    """The largest difference of a statistic from its reference; infinite where one of them alone is NULL."""

    def __init__(self) -> None:
        self.n = 0
        self.n_null = 0
        self.gap = 0.0

    def add(self, found: Any, wanted: Any, *, relative: bool = False) -> None:
        """Compare one data set; NaN and None in `wanted` are NULL."""
        self.n += 1
        if wanted is not None and isinstance(wanted, float) and math.isnan(wanted):
            wanted = None
        if found is None or wanted is None:
            self.n_null += 1
            self.gap = max(self.gap, 0.0 if found is None and wanted is None else math.inf)
        elif isinstance(wanted, str):
            self.gap = max(self.gap, 0.0 if found == wanted else math.inf)
        else:
            gap = abs(float(found) - float(wanted))
            self.gap = max(self.gap, gap / abs(float(wanted)) if relative and wanted else gap)


class Found(dict[str, Largest]):
    """Statistic to its largest difference."""

    def __missing__(self, name: str) -> Largest:
        self[name] = Largest()
        return self[name]
