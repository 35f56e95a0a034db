import json
import math
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradetrail.providers.mock import MODELS
from gradetrail.providers.mock_rules import answer, options_of, question_of
from gradetrail.providers.response import Response
from tests.providers.calls import Asked, call, faults_of, spec_of

TASKS = Path(__file__).parents[2] / "specs" / "ten_tasks" / "tasks.jsonl"
ROWS: list[dict[str, Any]] = [json.loads(line) for line in TASKS.read_text(encoding="utf-8").splitlines()]


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def bleu_4(candidate: str, reference: str) -> float:
    """Grade by BLEU with one added to every count, as the lessons define it."""
    c, r = words(candidate), words(reference)
    if not c:
        return 0.0
    product = 1.0
    for n in range(1, 5):
        have = Counter(tuple(c[i : i + n]) for i in range(len(c) - n + 1))
        want = Counter(tuple(r[i : i + n]) for i in range(len(r) - n + 1))
        product *= (sum((have & want).values()) + 1) / (sum(have.values()) + 1)
    penalty = 1.0 if len(c) >= len(r) else math.exp(1 - len(r) / len(c))
    return float(product**0.25 * penalty)


def rouge_l(candidate: str, reference: str) -> float:
    c, r = words(candidate), words(reference)
    row = [0] * (len(r) + 1)
    for one in c:
        last = row
        row = [0]
        for n, other in enumerate(r):
            row.append(last[n] + 1 if one == other else max(last[n + 1], row[n]))
    common = row[-1]
    return 2 * common / (len(c) + len(r)) if c or r else 1.0


def code_exec(code: str, assertions: list[str]) -> float:
    names: dict[str, Any] = {}
    try:
        exec(compile(code, "answer", "exec"), names)
        return sum(bool(eval(one, names)) for one in assertions) / len(assertions)
    except Exception:
        return 0.0


def processed(text: str, rule: str) -> str:
    if rule == "extract_letter":
        alone = re.search(r"(?<![A-Za-z])[A-E](?![A-Za-z])", text) or re.search("[A-E]", text)
        return alone[0] if alone else ""
    if rule == "extract_code_block":
        fenced = re.search(r"```\w*\n(.*?)```", text, re.DOTALL)
        return fenced[1] if fenced else text
    if rule == "extract_first_line":
        return next((line.strip() for line in text.splitlines() if line.strip()), "")
    return {"lower": text.lower, "strip_whitespace": text.strip, "none": lambda: text}[rule]()


def graded(row: dict[str, Any], response: Response) -> float:
    text, targets = processed(response.text, row["post_process"]), row["targets"]
    match row["metric_name"]:
        case "bleu_4":
            return max(bleu_4(text, target) for target in targets)
        case "rouge_l":
            return max(rouge_l(text, target) for target in targets)
        case "code_exec":
            return code_exec(text, targets)
    return float(text.strip() in [target.strip() for target in targets])


def is_right(row: dict[str, Any], score: float) -> bool:
    return score >= (0.5 if row["metric_name"] in ("bleu_4", "rouge_l", "f1") else 0.999999)


def as_text(row: dict[str, Any]) -> Asked:
    """Put the examples before the question, in one message."""
    shots = [f"{shot['prompt']} {shot['completion']}" for shot in row["few_shot_examples"]]
    return Asked([{"role": "user", "content": "\n\n".join([*shots, row["prompt"]])}])


def as_turns(row: dict[str, Any]) -> Asked:
    """Give the examples as turns of a conversation."""
    turns = [
        turn
        for shot in row["few_shot_examples"]
        for turn in (
            {"role": "user", "content": shot["prompt"]},
            {"role": "assistant", "content": shot["completion"]},
        )
    ]
    return Asked(
        [{"role": "system", "content": "Be brief."}, *turns, {"role": "user", "content": row["prompt"]}]
    )


FACTS = {
    # mean, right, ECE, Brier, perplexity, tokens: worked by hand from the confidences in the test below
    "rule_based": (1.0, 10, 0.08, 0.0064, math.exp(0.8), 43),
    "noisy": (0.3, 3, 0.55, 0.5125, math.exp(2.5), 51),
    "biased": (0.300077, 3, 0.24, 0.15, 17.002040, 24),
}


def test_the_ten_tasks_are_two_of_each_kind_and_the_first_is_72_characters_with_its_example() -> None:
    assert Counter(row["category"] for row in ROWS) == dict.fromkeys(
        ["arithmetic", "mcq", "code_exec", "classification", "summary"], 2
    )
    assert [row["id"] for row in ROWS] == [
        f"{kind}_00{n}" for kind in ("arith", "mcq", "code", "cls", "sum") for n in (1, 2)
    ]
    assert len(as_text(ROWS[0]).messages[0]["content"]) == 72


@pytest.mark.parametrize("rendered", [as_text, as_turns])
@pytest.mark.parametrize("name", sorted(set(MODELS) - {"judge"}))
def test_the_demo_comes_out_as_the_lessons_report_it(name: str, rendered: Any) -> None:
    spec = spec_of(f"mock/{name}")
    responses = [call(spec, rendered(row)) for row in ROWS]
    scores = [graded(row, response) for row, response in zip(ROWS, responses, strict=True)]
    right = [is_right(row, score) for row, score in zip(ROWS, scores, strict=True)]
    sure = [response.confidence or 0.0 for response in responses]
    gaps = []
    for level in sorted(set(sure)):
        inside = [ok for ok, confidence in zip(right, sure, strict=True) if confidence == level]
        gaps.append(abs(level * len(inside) - sum(inside)))
    brier = sum((confidence - ok) ** 2 for confidence, ok in zip(sure, right, strict=True)) / 10
    tokens = sum(response.token_count or 0 for response in responses)
    perplexity = math.exp(sum(response.token_nll or 0.0 for response in responses) / tokens)
    mean, n_right, ece, expected_brier, expected_perplexity, n_tokens = FACTS[name]
    assert round(sum(scores) / 10, 6) == mean
    assert (sum(right), tokens) == (n_right, n_tokens)
    assert sum(gaps) / 10 == pytest.approx(ece, abs=1e-12)
    assert brier == pytest.approx(expected_brier, abs=1e-12)
    assert perplexity == pytest.approx(expected_perplexity, abs=1e-6)


def test_biased_is_sure_of_two_right_answers_and_unsure_of_eight_of_which_one_is_right() -> None:
    spec = spec_of("mock/biased")
    kinds = Counter()
    for row in ROWS:
        response = call(spec, as_text(row))
        kinds[response.confidence, is_right(row, graded(row, response))] += 1
    assert kinds == {(0.9, True): 2, (0.4, True): 1, (0.4, False): 7}


def test_another_seed_makes_other_noise_and_the_same_seed_the_same() -> None:
    def texts(seed: int) -> list[str]:
        return [call(spec_of("mock/noisy", seed=seed), as_text(row)).text for row in ROWS]

    assert texts(1) == texts(1)
    assert texts(1) != texts(2)
    assert [call(spec_of("mock/noisy"), as_text(row)).text for row in ROWS] == texts(0)


def test_noise_is_right_three_times_in_ten_in_the_long_run() -> None:
    spec = spec_of("mock/noisy")
    right = 0
    for n in range(400):
        asked = Asked([{"role": "user", "content": f"What is {n} + {n + 3}?"}])
        right += call(spec, asked).text == str(2 * n + 3)
    assert 0.22 < right / 400 < 0.38


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        ("What is 2 + 3 * 4?", "14"),
        ("Compute (2 + 3) * 4 - 6 / 4.", "18.5"),
        ("What is 1,200 divided by 7?", "171.428571"),
        ("What is 2 ^ 10?", "1024"),
        ("What is 7 minus 10?", "-3"),
        ("What is 1 / 0? Think of 5 + 5 instead.", "10"),
        ("What is 9 ** 9 ** 9?", "27"),
        ("Tom has 5 apples and gave away 2. How many are left?", "3"),
        ("A box holds 6 eggs. There are 4 boxes, 6 in each. How many?", "24"),
        ('What is 2 + 2? End with a line "A: <number>".', "A: 4"),
        ("Which is even?\nA. 3\nB. 8\nC. 5", "B"),
        ("Which is the largest?\n\nA. 3\nB. 8\nC. 5\n\nAnswer with a letter.", "B"),
        ("What is 3 + 4? (A) 6 (B) 7 (C) 8", "B"),
        ("What is the capital of France? A) Rome B) Paris", "B"),
        (
            "Write a Python function longest(s) that returns the length of s.",
            "```python\ndef longest(s):\n    return len(s)\n```",
        ),
        (
            "def factorial(n: int) -> int:\n    ...",
            "```python\ndef factorial(n):\n    return 1 if n < 2 else n * factorial(n - 1)\n```",
        ),
        ("Is this positive or negative: awful and boring", "negative"),
        ("Classify this text as sports, politics, or science: The match was great sports.", "sports"),
        ("Summarise: One thing happened. Then another.", "One thing happened."),
        ("Is the sky blue?", "yes"),
        ("Who wrote it?", "I do not know."),
        ("", "I do not know."),
        ("What is 1 + 1? 2\n\nWhat is 2 + 2? 4\n\nWhat is 3 + 3?", "6"),
    ],
)
def test_rules_answer_other_prompts_of_the_same_kinds(prompt: str, said: str) -> None:
    assert answer(prompt) == said


def test_code_that_the_rules_write_runs() -> None:
    for name, call_text, value in (
        ("is_odd(n)", "is_odd(3)", True),
        ("reverse(text)", "reverse('abc')", "cba"),
        ("fibonacci(n)", "fibonacci(10)", 55),
        ("maximum(a, b)", "maximum(2, 9)", 9),
        ("multiply(a, b)", "multiply(2, 9)", 18),
        ("total(items)", "total([1, 2])", 3),
    ):
        names: dict[str, Any] = {}
        exec(processed(answer(f"Write a Python function {name}."), "extract_code_block"), names)
        assert eval(call_text, names) == value


def test_a_question_with_options_below_it_is_one_question() -> None:
    assert question_of("Example.\n\nWhich?\n\nA. x\nB. y") == "Which?\n\nA. x\nB. y"
    assert options_of("Which? A) x y B) z. Answer with one letter.") == [("A", "x y"), ("B", "z")]
    assert options_of("No options: A. here") == []


@given(st.text(max_size=300), st.integers())
def test_any_prompt_gets_an_answer_that_depends_on_nothing_else(prompt: str, seed: int) -> None:
    from gradetrail.providers.mock import biased, noisy, rule_based

    for model in (rule_based, noisy, biased):
        assert model(prompt, seed) == model(prompt, seed)


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    assert faults_of("mock/rule_base") == ["models.0.model: no mock model `rule_base`"]
    assert faults_of("mock/rule_based", temperature=0, top_k=3) == []


def test_usage_and_origin_are_stated() -> None:
    response = call(spec_of("mock/rule_based"), Asked([{"role": "user", "content": "What is 2 + 2?"}]))
    assert (response.text, response.stop_reason, response.origin) == ("4", "stop", "mock")
    assert (response.usage.input_tokens, response.usage.output_tokens) == (5, 1)
    assert response.served_model == "rule_based"
