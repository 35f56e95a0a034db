"""The work as a task of inspect: `inspect eval gsm_mock.py -T data=gsm10k.jsonl [-T cache=true]`."""

import json
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig
from inspect_ai.scorer import pattern
from inspect_ai.solver import generate, prompt_template

TEMPLATE = "{prompt}\nEnd with 'Answer: <number>'."


@task
def gsm_mock(data: str, cache: bool = False, regex: str = r"Answer: (-?\d+)") -> Task:
    """Ask every question and grade by a regular expression."""
    rows = [json.loads(line) for line in Path(data).read_text(encoding="utf-8").splitlines()]
    return Task(
        dataset=MemoryDataset([Sample(id=r["id"], input=r["question"], target=r["answer"]) for r in rows]),
        solver=[prompt_template(TEMPLATE), generate(cache=cache)],
        scorer=pattern(regex),
        config=GenerateConfig(temperature=0, max_tokens=256),
    )
