"""A lab with a judge: one server answers as `m1` and, as `judge`, says what a test tells it to."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gradetrail import pipeline
from gradetrail.pipeline import Run
from gradetrail.spec import Spec
from tests.pipeline.lab import Lab, chat, question_of
from tests.servers import Call, Reply

Row = dict[str, Any]
Says = Callable[[Call], Any]
"""What the judge replies: a text, a mapping as JSON, or a whole Reply."""

BINARY = {
    "kind": "binary",
    "version": 1,
    "prompt": "Question: {{ question }}\nRight: {{ target }}\nAnswer: {{ response }}\nJSON, please.",
}


def right(call: Call) -> Row:
    """Judge as a careful judge would: whether the answer ends with the right number."""
    asked = question_of(call)
    target = asked.partition("Right: ")[2].partition("\n")[0]
    is_right = asked.partition("Answer: ")[2].partition("\nJSON")[0].rstrip().endswith(f" {target}")
    return {"score": int(is_right), "reason": "it is" if is_right else "it is not", "confidence": 0.9}


class Bench:
    """Runs specs whose judge is scripted."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.says: Says = right
        self.usage: tuple[int, int] | None = (100, 20)
        self.answers: dict[str, str] = {}
        """What the model under test answers to questions that hold a text; otherwise it is right."""
        self.models: dict[str, str] = {}
        """What models answer to everything."""
        lab.api.answer = self._answer
        self.file(BINARY)

    def _answer(self, call: Call) -> Reply | None:
        if call.body.get("model") != "judge":
            asked = question_of(call)
            said = next((said for text, said in self.answers.items() if text in asked), None)
            said = self.models.get(call.body["model"], said)
            return None if said is None else Reply(body=chat(said))
        said = self.says(call)
        if isinstance(said, Reply):
            return said
        text = said if isinstance(said, str) else json.dumps(said)
        return Reply(body=chat(text, usage=self.usage))

    def replies(self, by_text: Mapping[str, list[Any]], otherwise: Says = right) -> None:
        """Reply in turn to questions that hold a text; to others as `otherwise` says."""
        queues = {text: deque(said) for text, said in by_text.items()}

        def says(call: Call) -> Any:
            asked = question_of(call)
            return next(
                (q.popleft() for text, q in queues.items() if text in asked and q), None
            ) or otherwise(call)

        self.says = says

    def votes(self, said: Sequence[Sequence[Any]], **options: Any) -> Row:
        """Give a judge that replies to each vote, by its number, in turn; all other options as `judge`."""
        queues = [deque(replies) for replies in said]
        # what a call says of its vote is the seed, which goes up by one with each
        self.says = lambda call: queues[call.body["seed"]].popleft()
        return self.judge(votes=len(said), model=self.lab.model(name="judge", seed=0), **options)

    def file(self, content: Mapping[str, Any] | str, name: str = "judge.yaml") -> Path:
        """Write a judge file."""
        path = self.lab.folder / name
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    def judge(self, **options: Any) -> Row:
        """Give a judge scorer of the server's model `judge`."""
        model = {"model": self.lab.model(name="judge")}
        return {"type": "judge", "file": "judge.yaml", **model, **options}

    def spec(self, judge: Row | None = None, **parts: Any) -> Spec:
        """Give the plain spec with a judge as its scorer, unless the parts name others."""
        scorers = parts.pop("scorers", {"judge": judge or self.judge()})
        return self.lab.spec(scorer=None, scorers=scorers, **parts)

    def run(self, judge: Row | None = None, **parts: Any) -> Run:
        return self.lab.run(self.spec(judge, **parts))

    def score(self, spec: Spec, **options: Any) -> Any:
        return pipeline.score(spec, warehouse=self.lab.warehouse, **options)

    @property
    def judged(self) -> list[Call]:
        """Calls that the judge got so far, in order."""
        return [call for call in self.lab.api.calls if call.body.get("model") == "judge"]

    @property
    def n_judged(self) -> int:
        """How many they are."""
        return len(self.judged)

    def calls(self, act: Callable[[], Any]) -> int:
        """Count the calls that the judge gets meanwhile."""
        before = self.n_judged
        act()
        return self.n_judged - before

    def scores(self) -> dict[str, float | None]:
        """Give the present scores by sample."""
        rows = self.lab.rows(
            "select sample_id, raw_score from graded"
            " where metric = 'score' and scorer = 'judge' order by sample_id"
        )
        return {row["sample_id"]: row["raw_score"] for row in rows}

    def grade(self, sample_id: str, metric: str = "score") -> Row:
        """Give one present grade."""
        return self.lab.row(
            "select * from graded where sample_id = $sample_id and metric = $metric",
            sample_id=sample_id, metric=metric,
        )  # fmt: skip
