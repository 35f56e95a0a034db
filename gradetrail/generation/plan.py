"""The plan: every trial of a spec, and the exact request that each one makes.

Invariant: a plan is a function of spec, dataset and flags alone. It is complete (every selected
sample is rendered) before the first call, and it does not look at what is stored. In memory it holds
what differs between trials; names and what belongs to a sample are held once, however many refer to them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gradetrail.dataset import Samples, Selection, load_samples, parse_row
from gradetrail.errors import DatasetError, Fault, GradetrailError, SelectionError, SpecError, did_you_mean
from gradetrail.generation.trials import named, own_columns
from gradetrail.prompt import Renderer, RenderError
from gradetrail.providers import call_shape
from gradetrail.request import (
    CallShape,
    KeyMaker,
    canonical_json,
    canonical_messages,
    content_id,
    hash_canonical,
)
from gradetrail.spec import Model, Spec

if TYPE_CHECKING:
    import pyarrow as pa

MAX_FAULTS = 20
PLAN_VERSION = 1
KEPT_BYTES = 16 * 2**20
"""Rendered messages that a plan keeps, so that a run of usual size renders each request once."""
KEY_BYTES = 250
"""What a kept one takes besides its messages."""


@dataclass(frozen=True, slots=True)
class Entrant:
    """A model x prompt."""

    model: Model
    shape: CallShape
    model_id: str
    prompt: str
    prompt_id: str
    system: str | None


@dataclass(frozen=True, slots=True)
class Narrowing:
    """Flags that narrow one invocation without changing what the plan owes."""

    models: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()
    epochs: int | None = None
    """Overrides the spec's epochs."""


@dataclass(frozen=True, slots=True)
class Plan:
    """All trials of a spec."""

    spec: Spec
    entrants: tuple[Entrant, ...]
    samples: Samples
    trials: pa.Table
    """PLANNED, `entrant` and `sample` (their indices), `input_bytes` (of the JSON asked). What entrant and
    sample say stands in dictionaries that all rows share: `trials.plain` writes them out."""
    plan_id: str
    selection: Selection
    epochs: int
    renderer: Renderer
    messages: Mapping[str, bytes]
    """Canonical messages by request_key, of as many trials as KEPT_BYTES hold; none of scripted prompts."""
    warnings: tuple[str, ...]


def model_id(shape: CallShape) -> str:
    """Hash provider, name, revision, endpoint and parameters."""
    return content_id("gradetrail.model.v1", {k: v for k, v in shape.identity(1).items() if k != "epoch"})


def entrants_of(spec: Spec, renderer: Renderer, narrowing: Narrowing) -> tuple[Entrant, ...]:
    """List the entrants that this invocation asks for; SelectionError for an unknown name."""
    models = {model.display: model for model in spec.models}
    for kind, asked, known in (
        ("model", narrowing.models, models),
        ("prompt", narrowing.prompts, spec.prompts),
    ):
        for name in asked:
            if name not in known:
                raise SelectionError(
                    Fault(f"no {kind} `{name}` in the spec", f"--{kind}", fix=did_you_mean(name, known))
                )
    return tuple(
        Entrant(
            model, shape, model_id(shape), prompt, renderer.prompt_id(prompt), spec.option(model, "system")
        )
        for name, model in models.items()
        if not narrowing.models or name in narrowing.models
        for shape in (call_shape(spec, model),)
        for prompt in spec.prompts
        if not narrowing.prompts or prompt in narrowing.prompts
    )


def plan_identity(spec: Spec, renderer: Renderer, selection: Selection) -> str:
    """Hash task, prompts, request block and selection: what a run may not change on its way."""
    request = spec.request.model_dump(mode="json", exclude_unset=True, exclude={"keep_raw", "stream"})
    dataset = spec.dataset
    return content_id(
        "gradetrail.plan.v1",
        {
            "task": spec.name,
            "prompts": {name: renderer.prompt_id(name) for name in spec.prompts},
            "request": request,
            "selection": {
                "query": dataset.query,
                "spec_where": dataset.where,
                "spec_limit": dataset.limit,
                "shuffle_seed": dataset.shuffle_seed if dataset.limit else None,
                "where": selection.where,
                "limit": selection.limit,
                "sample": selection.sample,
                "seed": selection.seed if selection.sample else None,
                "cases": sorted(selection.cases),
            },
        },
    )


SampleCheck = Callable[[Mapping[str, Any]], None]
"""Given the template variables of a sample, raises RenderError for what scorers cannot use."""


def make_plan(
    spec: Spec,
    selection: Selection = Selection(),
    narrowing: Narrowing = Narrowing(),
    *,
    frame: object | None = None,
    check: SampleCheck | None = None,
) -> Plan:
    """Load the samples and render every trial; `check` looks at each sample once.

    Raises SpecError with up to 20 faults, each naming the dataset row and the field.
    """
    try:
        renderer = Renderer(spec)
    except DatasetError as error:
        raise _with_the_rest(error, spec, selection, narrowing, frame, check) from error.__cause__
    faults = renderer.faults()
    if faults:
        raise SpecError(*faults)
    entrants = entrants_of(spec, renderer, narrowing)
    samples = load_samples(spec, selection, frame)
    epochs = narrowing.epochs or spec.epochs
    builder = _Builder(spec, renderer, entrants, samples, epochs, check)
    trials = builder.build()
    if found := builder.faults():
        raise SpecError(*found)
    return Plan(
        spec=spec,
        entrants=entrants,
        samples=samples,
        trials=trials,
        plan_id=plan_identity(spec, renderer, selection),
        selection=selection,
        epochs=epochs,
        renderer=renderer,
        messages=builder.messages,
        warnings=(
            *samples.warnings,
            *renderer.warnings(),
            *_warnings(entrants, epochs),
            *builder.same_questions(),
        ),
    )


def _with_the_rest(
    error: DatasetError,
    spec: Spec,
    selection: Selection,
    narrowing: Narrowing,
    frame: object | None,
    check: SampleCheck | None,
) -> GradetrailError:
    """Add to the faults of few-shot examples what planning without them finds."""
    try:
        make_plan(spec.model_copy(update={"few_shot": None}), selection, narrowing, frame=frame, check=check)
    except (SpecError, DatasetError) as further:
        return SpecError(*error.faults, *further.faults)
    return error


def _warnings(entrants: Sequence[Entrant], epochs: int) -> Iterator[str]:
    if epochs > 1:
        for name in sorted({e.model.display for e in entrants if e.shape.params.get("temperature") == 0}):
            yield f"{name}: {epochs} epochs at temperature 0 will give nearly the same answer each time"


@dataclass(slots=True)
class _Said:
    """Where a fault stands first, and how many rows have it."""

    place: int
    sample_id: str
    n_rows: int = 0
    last_place: int = -1


class _Builder:
    """Renders all trials, batch by batch, into one Arrow table."""

    def __init__(
        self,
        spec: Spec,
        renderer: Renderer,
        entrants: Sequence[Entrant],
        samples: Samples,
        epochs: int,
        check: SampleCheck | None,
    ) -> None:
        self.spec, self.renderer, self.entrants, self.samples, self.epochs = (
            spec,
            renderer,
            entrants,
            samples,
            epochs,
        )
        self._check = check
        self._said: dict[tuple[str, str], _Said] = {}
        self._inputs: dict[str, str] = {}
        """The one input_hash of each prompt; empty once there was another."""
        self._keys = [KeyMaker(entrant.shape, entrant.prompt) for entrant in entrants]
        self.messages: dict[str, bytes] = {}
        self._room = KEPT_BYTES

    def build(self) -> pa.Table:
        import pyarrow as pa

        entrants = pa.table(
            {
                "model": pa.array([entrant.model.display for entrant in self.entrants], pa.string()),
                "model_id": pa.array([entrant.model_id for entrant in self.entrants], pa.string()),
                "prompt": pa.array([entrant.prompt for entrant in self.entrants], pa.string()),
            }
        )
        constant = {"task": self.spec.name, "dataset_id": self.samples.dataset_id}
        return named(own_columns(self._rows()), entrants, self.samples.chosen, constant)

    def _rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield the columns OWN of each trial."""
        names = ("sample_id", "sample_hash", "position", "content")
        position = 0
        for batch in self.samples.batches():
            columns = [batch.column(name).to_pylist() for name in names]
            for sample_id, sample_hash, place, content in zip(*columns, strict=True):
                row = parse_row(content)
                self._check_sample(row, sample_id, place)
                for epoch in range(1, self.epochs + 1):
                    for (index, entrant), (messages, turns, order) in self._rendered(
                        row, sample_id, place, epoch
                    ):
                        key = self._keys[index].key(messages, epoch, sample_hash, sample_id)
                        asked = b'{"messages":' + messages + _input_tail(entrant.shape, turns)
                        input_hash = hash_canonical("gradetrail.input.v1", asked)
                        if not turns and self._room > 0:
                            self.messages[key] = messages
                            self._room -= len(messages) + KEY_BYTES
                        if self._inputs.setdefault(entrant.prompt, input_hash) != input_hash:
                            self._inputs[entrant.prompt] = ""
                        yield (
                            index,
                            position,
                            epoch,
                            input_hash,
                            order,
                            script_key(key, turns) if turns else key,
                            len(asked),
                        )
                position += 1

    def same_questions(self) -> Iterator[str]:
        """Warn of prompts that ask every sample the same, which a template without `{{ }}` does."""
        n_samples = self.samples.chosen.num_rows
        for prompt, only_input in self._inputs.items() if n_samples > 1 else ():
            if only_input:
                rows = n_samples * self.epochs * sum(e.prompt == prompt for e in self.entrants)
                same = f"prompt `{prompt}` asks all of its {rows:,} trials the same"
                yield f"{same} (a field is {{{{ name }}}})"

    def _rendered(
        self, row: dict[str, Any], sample_id: str, place: int, epoch: int
    ) -> Iterator[tuple[tuple[int, Entrant], tuple[bytes, tuple[str, ...], str | None]]]:
        done: dict[tuple[str, str | None], tuple[bytes, tuple[str, ...], str | None]] = {}
        failed: set[str] = set()
        for index, entrant in enumerate(self.entrants):
            if entrant.prompt in failed:
                continue
            content = done.get((entrant.prompt, entrant.system))
            if content is None:
                try:
                    rendered = self.renderer.render(entrant.prompt, row, sample_id, epoch, entrant.system)
                except RenderError as error:
                    failed.add(entrant.prompt)
                    self._fault(error, f"prompts.{entrant.prompt}", sample_id, place)
                    continue
                order = (
                    None if rendered.choice_order is None else canonical_json(rendered.choice_order).decode()
                )
                content = (canonical_messages(rendered.messages), tuple(rendered.follow_ups), order)
                done[(entrant.prompt, entrant.system)] = content
            yield (index, entrant), content

    def _check_sample(self, row: dict[str, Any], sample_id: str, place: int) -> None:
        if self._check is None:
            return
        try:
            values, _ = self.renderer.values(row, sample_id, 1)
            self._check(values)
        except RenderError as error:
            self._fault(error, "scorers", sample_id, place)

    def _fault(self, error: RenderError, field: str, sample_id: str, place: int) -> None:
        """Note a fault; one that many rows share is one fault, at the first of them."""
        said = self._said.setdefault((field, str(error)), _Said(place, sample_id))
        said.n_rows += place != said.last_place
        said.last_place = place

    def faults(self) -> list[Fault]:
        """List what is wrong, in the order of the rows."""
        dataset = self.spec.dataset.path or "dataset"
        found = []
        for (field, message), said in list(self._said.items())[:MAX_FAULTS]:
            more = f" and {said.n_rows - 1:,} more" if said.n_rows > 1 else ""
            where = f"{dataset} row {said.place + 1} (sample {said.sample_id}){more}"
            found.append(Fault(message, where, field, "mend the template or the row"))
        if len(self._said) > MAX_FAULTS:
            found.append(Fault(f"and {len(self._said) - MAX_FAULTS:,} more"))
        return found


def script_key(first_key: str, follow_ups: Sequence[str]) -> str:
    """Identify a scripted conversation by its first request and the turns that follow."""
    return content_id("gradetrail.script.v1", [first_key, list(follow_ups)])


def _input_tail(shape: CallShape, follow_ups: tuple[str, ...]) -> bytes:
    """Encode what follows `messages` in the canonical JSON of an input."""
    if not follow_ups and shape.response_format is None and shape.tools is None:
        return b"}"
    rest = {"response_format": shape.response_format, "tools": shape.tools, "turns": list(follow_ups) or None}
    return b"," + canonical_json({key: value for key, value in rest.items() if value is not None})[1:]
