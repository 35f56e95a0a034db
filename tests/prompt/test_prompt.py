"""Templates are strict and data is inert; choices and few-shot draws are the same for ever."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradetrail.dataset import JsonFloat, parse_row
from gradetrail.prompt import Renderer, RenderError, render, right_option, shown_order, target_texts, value_of
from gradetrail.spec import Choices, spec_from

HERE = Path(__file__).parent
CASES = [json.loads(line) for line in (HERE / "template.jsonl").read_text().splitlines()]
BASE = {"name": "t", "dataset": "d.jsonl", "scorer": "exact", "target": "{{ a }}", "model": "mock/noisy"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["case"])
def test_data_passes_through_a_template_unchanged(case: dict[str, Any]) -> None:
    assert render(case["template"], case["row"]) == case["expect_prompt"]


@given(st.text(st.characters(exclude_categories=("Cs",))))
def test_any_text_is_inert(text: str) -> None:
    assert render("<{{ q }}>", {"q": text}) == f"<{text}>"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("1.50", "1.50"),
        ("1e5", "1e5"),
        ("7", "7"),
        ("true", "true"),
        ("false", "false"),
        ('"x"', "x"),
        ("-0.0", "-0.0"),
    ],
)
def test_numbers_and_booleans_keep_their_json_text(value: str, expected: str) -> None:
    assert render("{{ q }}", parse_row(f'{{"q": {value}}}')) == expected


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ("{{ nothing }}", "'nothing' is undefined; did you mean `nothin`"),
        ("{{ nul }}", "a null value in `nul`"),
        ("{{ lst }}", "a list as it is"),
        ("{{ obj }}", "an object as it is"),
        ("{{ q | after('####') }}", "the marker is not in the value"),
        ("{{ q | number }}", "there is no number"),
        ("{{ q.__class__.__mro__ }}", "not allowed|undefined|unsafe"),
        ("{{ 1 / 0 }}", "ZeroDivisionError"),
        ("{{ lst.append(1) }}", "not allowed|unsafe"),
    ],
)
def test_a_template_that_cannot_be_shown_says_which_field(template: str, words: str) -> None:
    with pytest.raises(RenderError, match=words):
        render(template, {"q": "x", "nul": None, "lst": [1], "obj": {"a": 1}, "nothin": 1})


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{{ a | after('####') }}", "1,234"),
        ("{{ a | after('####') | number }}", "1234"),
        ("{{ s | strip }}", "x y"),
        ("{{ r | regex_escape }}", r"3\.5\("),
        ("{{ l | join(', ') }}", "1, 2.50"),
        ("{{ l | tojson }}", "[1,2.50]"),
        ("{{ neg | number }}", "-3.5"),
    ],
)
def test_filters(template: str, expected: str) -> None:
    row = {
        "a": "2+2=4\n#### 1,234 ",
        "s": " x y\n",
        "r": "3.5(",
        "l": [1, JsonFloat("2.50")],
        "neg": "it is \u22123.5 degrees",
    }
    assert render(template, row) == expected


def test_a_target_of_exactly_one_field_keeps_its_type() -> None:
    assert value_of("{{ a }}", {"a": ["x", "y"]}) == ["x", "y"]
    assert value_of(" {{ a.b }} ", {"a": {"b": 3}}) == 3
    assert target_texts("{{ a }}", {"a": ["x", 2, True]}) == ["x", "2", "true"]
    assert target_texts(["{{ a }}", "{{ b }}"], {"a": 1, "b": "z"}) == ["1", "z"]


@pytest.mark.parametrize("value", [None, []])
def test_a_sample_without_a_target_has_none(value: Any) -> None:
    assert target_texts("{{ a }}", {"a": value}) is None


def test_an_empty_target_is_a_target() -> None:
    assert target_texts("{{ a }}", {"a": ""}) == [""]


def test_system_message_stands_in_only_where_the_prompt_has_none() -> None:
    spec = spec_from({**BASE, "prompts": {"bare": "{{ q }}", "own": {"system": "Mine", "user": "{{ q }}"}}})
    renderer = Renderer(spec)
    assert [m["role"] for m in renderer.render("bare", {"q": "x"}, "1", 1, "S {{ q }}").messages] == [
        "system",
        "user",
    ]
    assert renderer.render("own", {"q": "x"}, "1", 1, "S").messages[0]["content"] == "Mine"


def choice_spec(shuffle: str, **more: Any) -> Renderer:
    choices = {"from": "options", "answer": "answer", "shuffle": shuffle, "seed": 7}
    return Renderer(
        spec_from({**BASE, "prompt": "{{ q }}\n{{ choices }}\n{{ letters }}", "choices": choices, **more})
    )


ROW = {"q": "?", "options": ["w", "x", "y", "z"], "answer": 2}


def test_choices_are_shown_as_lettered_lines_and_the_order_is_given() -> None:
    rendered = choice_spec("none").render("default", ROW, "1", 1, None)
    assert rendered.messages[0]["content"] == "?\nA. w\nB. x\nC. y\nD. z\nA, B, C, D"
    assert rendered.choice_order == [0, 1, 2, 3]


@given(
    st.text(min_size=1, max_size=8), st.integers(1, 5), st.sampled_from(["per_sample", "per_epoch", "rotate"])
)
def test_the_right_letter_always_names_the_right_option(sample_id: str, epoch: int, shuffle: str) -> None:
    renderer = choice_spec(shuffle)
    values, order = renderer.values(ROW, sample_id, epoch)
    assert order is not None and sorted(order) == [0, 1, 2, 3]
    assert values["choices"]["ABCD".index(values["answer_letter"])] == "y"
    again, _ = renderer.values(ROW, sample_id, 99, order)
    assert again["answer_letter"] == values["answer_letter"]


def test_per_sample_order_stays_over_epochs_and_rotate_visits_every_place() -> None:
    choices = Choices.model_validate({"from": "o", "answer": "a", "shuffle": "per_sample"})
    assert shown_order(choices, 5, "s", 1) == shown_order(choices, 5, "s", 2)
    rotate = choices.model_copy(update={"shuffle": "rotate"})
    assert {shown_order(rotate, 4, "s", epoch)[0] for epoch in range(1, 5)} == {0, 1, 2, 3}


def test_shuffled_right_answers_are_spread_evenly() -> None:
    choices = Choices.model_validate({"from": "o", "answer": "a", "shuffle": "per_sample"})
    places = Counter(shown_order(choices, 4, str(n), 1).index(0) for n in range(4000))
    assert all(900 < places[place] < 1100 for place in range(4))


@pytest.mark.parametrize(("answer", "index"), [(2, 2), ("C", 2), ("c", 2), ("y", 2), ("2", 2), (0, 0)])
def test_the_answer_may_be_an_index_a_letter_or_the_text(answer: Any, index: int) -> None:
    assert right_option(answer, ["w", "x", "y", "z"]) == index


@pytest.mark.parametrize("answer", [4, -1, "E", "v", "", "4"])
def test_an_answer_that_is_no_option_is_refused(answer: Any) -> None:
    with pytest.raises(RenderError):
        right_option(answer, ["w", "x", "y", "z"])


def test_option_texts_go_before_letters_and_indices() -> None:
    assert right_option("A", ["B", "A"]) == 1
    assert right_option("1", ["0", "2", "1"]) == 2


CHOICES = {"from": "o", "answer": "a"}


def told(*rows: tuple[list[Any], Any]) -> list[str]:
    renderer = Renderer(
        spec_from({**BASE, "prompt": "{{ choices }}", "choices": CHOICES, "target": "{{ answer_letter }}"})
    )
    for number, (options, right) in enumerate(rows, 1):
        renderer.values({"o": options, "a": right}, f"s{number}", 1)
    return renderer.warnings()


def test_a_right_option_that_could_mean_another_one_is_told_once_with_its_sample() -> None:
    fix = "Make `a` the 0-based index, as a number, to be sure"
    (unclear,) = told((["red", "green", "blue"], "1"), (["1", "0", "2"], "1"), (["0", "2", "1"], "1"))
    assert unclear.startswith(
        "choices.answer: `1` of sample `s2` may mean A as text, B as index; the first counts; "
    )
    assert unclear.endswith(f"answers are read as index (`s1`) and text (`s2`). {fix}")
    assert told((["C", "A", "B"], "A")) == [
        f"choices.answer: `A` of sample `s1` may mean B as text, A as letter; the first counts. {fix}"
    ]


def test_right_options_with_one_reading_are_not_told() -> None:
    colours = ["red", "green", "blue"]
    assert told((colours, "1"), (colours, "B"), (colours, "red"), (["A", "B"], "A"), (["1", "0"], 1)) == []


def few_shot(tmp_path: Path, **more: Any) -> Renderer:
    rows = [
        {"id": f"d{n}", "q": f"q{n}", "a": f"a{n}", "s": "even" if n % 2 == 0 else "odd"} for n in range(10)
    ]
    (tmp_path / "dev.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    shot = {"path": "dev.jsonl", "n": 2, "seed": 1, **more}
    return Renderer(
        spec_from(
            {**BASE, "prompt": {"system": "S", "user": "Q: {{ q }}\nA:"}, "few_shot": shot}, base=tmp_path
        )
    )


def test_few_shot_turns_stand_between_system_and_question(tmp_path: Path) -> None:
    messages = few_shot(tmp_path).render("default", {"q": "me", "a": "x", "s": "odd"}, "1", 1, None).messages
    assert [m["role"] for m in messages] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert messages[-1]["content"] == "Q: me\nA:"
    shown = messages[1]["content"].removeprefix("Q: q").removesuffix("\nA:")
    assert messages[2]["content"] == f"a{shown}"


def test_few_shot_text_is_example_space_answer_blank_line(tmp_path: Path) -> None:
    messages = (
        few_shot(tmp_path, n=1, **{"as": "text"})
        .render("default", {"q": "me", "a": "x", "s": "odd"}, "1", 1, None)
        .messages
    )
    example, _, question = messages[1]["content"].partition("\n\n")
    assert question == "Q: me\nA:"
    assert example.startswith("Q: q") and example.rpartition(" ")[2].startswith("a")


def test_matched_examples_share_the_field_and_never_hold_the_sample_itself(tmp_path: Path) -> None:
    renderer = few_shot(tmp_path, n=4, match="s")
    row = {"id": "d0", "q": "q0", "a": "a0", "s": "even"}
    messages = renderer.render("default", row, "d0", 1, None).messages
    asked = [m["content"] for m in messages if m["role"] == "user"][:-1]
    assert asked == [f"Q: q{n}\nA:" for n in (2, 4, 6, 8)]


def test_too_few_matching_examples_are_named(tmp_path: Path) -> None:
    with pytest.raises(RenderError, match="4 examples fit this sample, 5 are asked for"):
        few_shot(tmp_path, n=5, match="s").render(
            "default", {"id": "d0", "q": "q0", "a": "a0", "s": "even"}, "d0", 1, None
        )


def test_prompt_id_follows_templates_examples_and_choices_not_names(tmp_path: Path) -> None:
    def id_of(**more: Any) -> str:
        return Renderer(spec_from({**BASE, "prompt": "{{ q }}", **more})).prompt_id("default")

    assert id_of() == id_of(name="other", scorer="numeric", target="{{ b }}")
    assert id_of() != id_of(prompt="{{ q }}.")
    assert id_of() != id_of(choices={"from": "o", "answer": "a"})
    before = few_shot(tmp_path).prompt_id("default")
    assert few_shot(tmp_path, seed=2).prompt_id("default") != before
