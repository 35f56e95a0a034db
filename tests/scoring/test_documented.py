import re
from pathlib import Path
from typing import get_args

from gradetrail import scorer_spec
from gradetrail.scorer_spec import NAMED_RULES, Normalizer, ScorerBase
from gradetrail.scoring.numbers import UNITS

TEXT = (Path(__file__).parents[2] / "docs" / "scorers.md").read_text(encoding="utf-8")
TYPES = {
    kind.model_fields["type"].default
    for kind in vars(scorer_spec).values()
    if isinstance(kind, type) and issubclass(kind, ScorerBase) and "type" in kind.model_fields
}


def test_the_page_names_every_scorer_rule_step_and_unit() -> None:
    named = set(re.findall(r"`(\w+)`", TEXT))
    assert {*TYPES, *NAMED_RULES, "regex", *get_args(Normalizer)} - named == set()
    (units,) = re.findall(r"except these units: ([\w\s]+)\.", TEXT)
    assert units.split() == list(UNITS)
