"""Looks at labels before anything is paid for: which of them are about no answer that there will be.

Invariant: what applies to nothing is told with counts; a source of labels that applies to nothing at all is
a fault. Labels of other models or prompts may be kept, and are only warned of.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

from gradetrail.errors import Fault, did_you_mean
from gradetrail.scorer_spec import Label
from gradetrail.scoring.definition import Definition
from gradetrail.scoring.labels import LabelRow, labels_of

COMPARED = 2_000
"""Sample ids that a wrong one is compared with, to suggest a near one."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a run of a spec asks about."""

    sample_ids: AbstractSet[str]
    """Of the whole dataset, not of the selected part alone."""
    models: AbstractSet[str]
    prompts: AbstractSet[str]
    epochs: int
    is_part: bool
    """Whether some samples are left out, so that fields may be missing in those that are looked at."""


@dataclass(slots=True)
class LabelWatch:
    """Follows the labels of one scorer."""

    name: str
    """Name of the scorer in the spec."""
    scorer: Label
    content: bytes | None
    _n_samples: int = 0
    _n_there: int = 0
    _n_labelled: int = 0
    _known: dict[str, None] = field(default_factory=dict)
    """Names that stood where the part of the path that is missing should stand."""

    @classmethod
    def over(cls, definitions: Iterable[Definition]) -> list[LabelWatch]:
        """Watch the `label` scorers among these definitions and their cases."""
        return [
            cls(definition.name, each.scorer, dict(each.files).get("file"))
            for definition in definitions
            for each in (definition, *definition.cases().values())
            if isinstance(each.scorer, Label)
        ]

    def look(self, values: Mapping[str, Any]) -> None:
        """Look at one sample."""
        if self.scorer.field is None:
            return
        self._n_samples += 1
        value: Any = values
        for part in self.scorer.field.split("."):
            if not isinstance(value, Mapping) or part not in value:
                self._known.update(dict.fromkeys(value if isinstance(value, Mapping) else ()))
                return
            value = value[part]
        self._n_there += 1
        self._n_labelled += value is not None and bool(str(value).strip())

    def faults(self, where: str, asked: Asked) -> Iterator[Fault]:
        """Say why no label applies to anything; `where` is the scorer's file and line."""
        place = f"scorers.{self.name}"
        if self.scorer.field is not None:
            if self._n_samples and not self._n_there and not asked.is_part:
                message = f"no sample has `{self.scorer.field}`"
                yield Fault(message, where, f"{place}.field", did_you_mean(self._last_part(), self._known))
            return
        labels = self._labels()
        if labels and not any(_applies(label, asked) for label in labels):
            told = next(_misses(labels, asked), None) or "no label is about an answer that there will be"
            fix = "name samples by their ids, models and prompts as the spec does"
            yield Fault(f"none of the {len(labels):,} labels applies: {told}", where, f"{place}.file", fix)

    def warnings(self, asked: Asked) -> Iterator[str]:
        """Say which labels apply to nothing, or that there are none."""
        scorer = f"scorer `{self.name}`"
        if self.scorer.field is not None:
            if self._n_samples and not self._n_labelled:
                yield f"{scorer}: none of {self._n_samples:,} samples has a label in `{self.scorer.field}`"
            return
        labels = self._labels()
        if not labels and self.content is not None:
            yield f"{scorer}: {self.scorer.file} holds no label yet; every grade will be `no_target`"
        yield from (f"{scorer}: {miss}" for miss in _misses(labels, asked))

    def _labels(self) -> Sequence[LabelRow]:
        return () if self.content is None else labels_of(self.scorer, self.content)

    def _last_part(self) -> str:
        return str(self.scorer.field).rpartition(".")[2] if self._known else str(self.scorer.field)


def _applies(label: LabelRow, asked: Asked) -> bool:
    sample_id, model, prompt, epoch = label[:4]
    return (
        sample_id in asked.sample_ids
        and (model is None or model in asked.models)
        and (prompt is None or prompt in asked.prompts)
        and (epoch is None or 1 <= epoch <= asked.epochs)
    )


def _misses(labels: Sequence[LabelRow], asked: Asked) -> Iterator[str]:
    """Say for each key how many labels name what there is not."""
    for at, kind, known in (
        (0, "sample", asked.sample_ids),
        (1, "model", asked.models),
        (2, "prompt", asked.prompts),
        (3, "epoch", range(1, asked.epochs + 1)),
    ):
        missed = [label[at] for label in labels if label[at] is not None and label[at] not in known]
        if missed:
            hint = _near(str(missed[0]), [str(name) for name in known])
            yield f"{len(missed):,} of {len(labels):,} labels match no {kind}, e.g. `{missed[0]}`{hint}"


def _near(name: str, known: Sequence[str]) -> str:
    hint = did_you_mean(name, known[:COMPARED])
    near = f"; {hint.partition('?')[0]}?" if hint.startswith("did you mean") else ""
    same_number = next(
        (each for each in known if name.isdigit() and each.lstrip("0") == name.lstrip("0")), None
    )
    return f"; did you mean `{same_number}`?" if same_number is not None else near
