"""Judges answers in worker processes, for rules that may take too long on some answers.

Invariant: what is said of an answer does not depend on the number of workers, or on the other answers.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

from gradetrail.scoring.worker import SILENCE_SECONDS, Worker

ANSWERS_PER_WORKER = 200
"""Answers from which another worker is worth its start at once."""
PATIENCE_SECONDS = 3.0
"""Time after which another worker starts for fewer answers too, since some of them take long."""
ANSWERS_AT_A_TIME = 8
"""Answers that a worker takes from those that are left; all of them wait for one that takes long."""
LINE_CHARACTERS = 100_000


class _RuleProcess(Worker):
    def __init__(self, seconds: float) -> None:
        super().__init__(
            "the answer killed the process that judged it",
            SILENCE_SECONDS + 10 * seconds,  # processor time passes slowly on a busy machine
            {-signal.SIGPROF: f"took more than {seconds:g} s"},  # could not be interrupted
        )
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
        texts = [json.dumps(item) for item in items]
        left = deque(range(0, len(texts), ANSWERS_AT_A_TIME))
        n_at_once = max(1, min(most, len(texts) // ANSWERS_PER_WORKER))
        replies: list[Any] = [None] * len(texts)
        question = {"module": self.module, "options": self.options}
        is_done = Event()

        def work(number: int) -> None:
            if number >= n_at_once and is_done.wait(PATIENCE_SECONDS):
                return
            with _RuleProcess(self.seconds) as process:
                while left:
                    try:
                        start = left.popleft()
                    except IndexError:  # another worker took the last
                        break
                    share = texts[start : start + ANSWERS_AT_A_TIME]
                    replies[start : start + len(share)] = process.ask(question, share, LINE_CHARACTERS)
            is_done.set()

        n_workers = max(1, min(most, len(left)))
        with ThreadPoolExecutor(n_workers) as pool:
            list(pool.map(work, range(n_workers)))
        return replies
