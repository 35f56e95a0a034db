"""Grades stored replies with a metric of one's own: `rescore.py replies.jsonl` (input, output, gold)."""

import json
import re
import sys
from pathlib import Path
from typing import Any

from deepeval import evaluate
from deepeval.evaluate import AsyncConfig, CacheConfig, DisplayConfig
from deepeval.metrics import BaseMetric
from deepeval.test_case import LLMTestCase

NUMBER = re.compile(r"(-?\d+)\s*$")


class LastNumber(BaseMetric):
    """Compares the number at the end."""

    def __init__(self) -> None:
        self.threshold = 1.0

    def measure(self, test_case: LLMTestCase, *_: Any, **__: Any) -> float:
        """Grade one reply."""
        found = NUMBER.search(test_case.actual_output)
        self.score = float(found is not None and found[1] == test_case.expected_output)
        self.success = self.score >= 1
        self.reason = ""
        return self.score

    async def a_measure(self, test_case: LLMTestCase, *_: Any, **__: Any) -> float:
        """Grade one reply; there is nothing to wait for."""
        return self.measure(test_case)

    def is_successful(self) -> bool:
        """Say whether the last reply was right."""
        return bool(self.success)

    @property
    def __name__(self) -> str:
        return "LastNumber"


def main() -> None:
    """Grade all replies and print the accuracy."""
    rows = [json.loads(line) for line in Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()]
    cases = [
        LLMTestCase(input=row["input"], actual_output=row["output"], expected_output=row["gold"])
        for row in rows
    ]
    result = evaluate(
        cases,
        [LastNumber()],
        async_config=AsyncConfig(max_concurrent=64, throttle_value=0),
        cache_config=CacheConfig(write_cache=False),
        display_config=DisplayConfig(show_indicator=False, print_results=False),
    )
    print(len(rows), sum(bool(one.success) for one in result.test_results) / len(rows))


if __name__ == "__main__":
    main()
