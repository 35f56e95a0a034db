"""Judges answers in worker processes, for rules that may take too long on some answers.

Invariant: what is said of an answer does not depend on the number of workers, or on the other answers.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gradetrail.scoring.worker import SILENCE_SECONDS, Worker

ANSWERS_PER_WORKER = 200
"""Answers from which another worker is worth its start."""
LINE_CHARACTERS = 100_000


class _RuleProcess(Worker):
    def __init__(self, seconds: float) -> None:
        # processor time passes slowly on a busy machine
        super().__init__("the answer killed the process that judged it", SILENCE_SECONDS + 10 * seconds)
        self._seconds = seconds

    def command(self) -> tuple[Sequence[str], Mapping[str, str]]:
        worker = Path(__file__).with_name("rule_worker.py")
        # the same modules as here, and the same order of sets in each process
        environment = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONHASHSEED": "0"}
        return [sys.executable, "-P", str(worker), str(self._seconds)], environment


@dataclass(frozen=True, slots=True)
class Judgement:
    """A function of one answer, in a module that a worker can import."""

    module: str
    """Has `judge_of(options)`, which gives the function."""
    options: Mapping[str, Any]
    seconds: float
    """Processor time that one answer may take."""

    def replies(self, items: Sequence[Any], workers: int | None = None) -> list[Any]:
        """Judge items of JSON in order; Failure where one takes too long or fails.

        `workers` None is one for each core, as far as there is work.
        """
        most = os.cpu_count() or 1 if workers is None else workers
        n_workers = max(1, min(most, len(items) // ANSWERS_PER_WORKER))
        texts = [json.dumps(item) for item in items]
        shares = [texts[start::n_workers] for start in range(n_workers)]
        with ThreadPoolExecutor(n_workers) as pool:
            judged = list(pool.map(self._share, shares))
        replies: list[Any] = [None] * len(items)
        for start, share in enumerate(judged):
            replies[start::n_workers] = share
        return replies

    def _share(self, texts: Sequence[str]) -> list[Any]:
        with _RuleProcess(self.seconds) as process:
            return process.ask({"module": self.module, "options": self.options}, texts, LINE_CHARACTERS)
