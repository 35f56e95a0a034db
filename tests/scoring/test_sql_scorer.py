"""`sql`: one expression over each answer, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from gradetrail import sql
from gradetrail.errors import SpecError
from gradetrail.scoring.expression import expression_faults
from gradetrail.scoring.frames import ANSWER_COLUMNS, empty_frame
from gradetrail.scoring.sql_rows import Evaluator
from gradetrail.sql_child import Limits
from tests.scoring.grading import definition
from tests.scoring.whole import Desk

SAMPLES = [
    {"id": "a", "answer": "4", "007": "x", "weight": 1.50, "tags": ["x", "y"], "text": "never seen"},
    {"id": "b", "answer": "5", "weight": None},
    {"id": "c", "answer": "6"},
]
ANSWERS = [
    {"sample_id": "a", "text": "<think>9</think>It is 4.", "stop_reason": "stop"},
    {"sample_id": "b", "text": "It is 4.", "stop_reason": "length"},
    {"sample_id": "c", "text": ""},
]


def found(tmp_path: Path, expression: str, **options: Any) -> list[tuple[Any, ...]]:
    desk = Desk(tmp_path, ANSWERS, SAMPLES)
    desk.run({"s": {"type": "sql", "sql": expression, **options}})
    return [row[1:] for row in desk.grades("s")]


def test_columns_of_the_answer_and_of_the_dataset_stand_side_by_side(tmp_path: Path) -> None:
    desk = Desk(tmp_path, ANSWERS, SAMPLES)
    told = {
        "text = 'It is 4.'": [True, True, False],
        "response like '<think>%'": [True, False, False],
        "target = answer": [True, True, True],
        "stop_reason = 'length'": [False, True, None],
        "model = 'm' and prompt = 'default' and epoch = 1 and sample_id = id": [True, True, True],
        "weight = '1.5' or weight = '1.50'": [True, None, None],
        'tags = \'["x","y"]\'': [True, None, None],
        "\"007\" = 'x'": [True, None, None],
        "weight is null": [False, True, True],
    }
    text = f"{{'score': 1, 'detail': to_json([{', '.join(told)}])::varchar}}"
    desk.run({"s": {"type": "sql", "sql": text}})
    details = [json.loads(detail) for (detail,) in desk.grades("s", "detail")]
    assert dict(zip(told, map(list, zip(*details, strict=True)), strict=True)) == told


def test_the_documented_expression(tmp_path: Path) -> None:
    expression = "case when text ilike '%' || answer || '%' then 1 else 0 end"
    assert found(tmp_path, expression) == [
        ("scored", 1.0, None),
        ("scored", 0.0, None),
        ("scored", 0.0, None),
    ]


def test_null_says_why_there_is_no_score(tmp_path: Path) -> None:
    assert [row[0] for row in found(tmp_path, "null")] == ["unparsed", "truncated", "empty"]


def test_a_struct_says_what_was_found_and_why(tmp_path: Path) -> None:
    desk = Desk(tmp_path, ANSWERS[:2], SAMPLES[:2])
    text = "{'score': extracted = answer, 'extracted': extracted || '!', 'detail': upper(stop_reason)}"
    desk.run({"s": {"type": "sql", "sql": text, "extract": "number"}})
    assert desk.grades("s", "raw_score, extracted, extracted_by, detail") == [
        (1.0, "4!", "sql", "STOP"),
        (0.0, "4!", "sql", "LENGTH"),
    ]


def test_columns_have_the_types_that_an_expression_was_tried_on(tmp_path: Path) -> None:
    names = [name for name in ANSWER_COLUMNS if name != "extracted_by"]
    desk = Desk(tmp_path, ANSWERS[:1], SAMPLES[:1])
    types = ", ".join(f"typeof({name})" for name in names)
    desk.run({"s": {"type": "sql", "sql": f"{{'score': 1, 'detail': concat_ws(' ', {types})}}"}})
    con = sql.connect()
    con.register("tried", empty_frame(["id"]))
    described = dict(con.execute("select column_name, column_type from (describe tried)").fetchall())
    assert desk.grades("s", "detail") == [(" ".join(described[name] for name in names),)]


def test_what_the_chain_found_is_kept(tmp_path: Path) -> None:
    desk = Desk(tmp_path, ANSWERS[:1], SAMPLES[:1])
    desk.run({"s": {"type": "sql", "sql": "extracted = answer", "extract": "number"}})
    assert desk.grades("s", "raw_score, extracted, extracted_by") == [(1.0, "4", "number")]


def test_an_error_belongs_to_its_row(tmp_path: Path) -> None:
    first, second, third = found(tmp_path, "(case when answer = '5' then text else answer end)::int > 0")
    assert (first[0], third[0]) == ("scored", "scored")
    assert (second[0], second[1]) == ("scorer_error", None)
    assert "Could not convert string 'It is 4.'" in second[2]


def test_a_score_outside_its_scale_is_an_error_of_its_row(tmp_path: Path) -> None:
    first, second, _ = found(tmp_path, "answer::double", scale=[0, 4])
    assert first == ("scored", 4.0, None)
    assert second == ("scorer_error", None, "the score 5 is outside the scorer's `scale` of 0 to 4")


def test_infinity_is_no_score(tmp_path: Path) -> None:
    assert found(tmp_path, "'inf'::double", scale=None)[0] == (
        "scorer_error",
        None,
        "the score inf is no number",
    )


def test_a_score_of_which_no_mean_could_be_computed_is_an_error_and_tops_no_board(tmp_path: Path) -> None:
    desk = Desk(tmp_path, ANSWERS[:2], SAMPLES[:2])
    desk.run({"s": {"type": "sql", "sql": "case when answer = '4' then 1e308 else 1e50 end", "scale": None}})
    told = "the score 1e+308 is beyond 1e+50: no mean of such can be computed"
    assert [row[1:] for row in desk.grades("s")] == [("scorer_error", None, told), ("scored", 1e50, None)]
    assert desk.rows("select mean, n from leaderboard") == [(1e50, 1)]


def test_the_largest_scores_have_a_mean_and_an_error(tmp_path: Path) -> None:
    desk = Desk(tmp_path, ANSWERS, SAMPLES)
    desk.run({"s": {"type": "sql", "sql": "case when answer = '4' then -1e50 else 1e50 end", "scale": None}})
    ((mean, stderr),) = desk.rows("select mean, stderr from leaderboard")
    assert mean == pytest.approx(1e50 / 3)
    assert stderr == pytest.approx(2e50 / 3)


def test_a_scale_ends_where_scores_do() -> None:
    assert definition({"type": "sql", "sql": "1", "scale": [0, 1e50]}).bounds() == (0, 1e50)
    for scale in ([0, 1e51], [-1e308, 1], [0, float("inf")]):
        with pytest.raises(SpecError, match="`scale` reaches beyond 1e\\+50"):
            definition({"type": "sql", "sql": "1", "scale": scale})


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("text", "which is no score"),
        ("[1, 2]", "which is no score"),
        ("{'points': 1}", "unknown field `points`"),
        ("{'extracted': text}", "no field `score`"),
        ("anwser = text", r"no column `anwser`\n    fix: did you mean `answer`"),
        ("levenshtein(text)", "levenshtein"),
    ],
)
def test_an_expression_that_does_not_fit_is_refused(tmp_path: Path, expression: str, message: str) -> None:
    with pytest.raises(SpecError, match=message) as caught:
        found(tmp_path, expression)
    assert {fault.field for fault in caught.value.faults} == {"scorers.s.sql"}
    assert not list(tmp_path.glob("warehouse/runs/*.json")), "something was asked first"


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("", "empty"),
        ("1 +", "syntax error"),
        ("1, 2", "more than one expression"),
        ("1), (select 1", "more than one expression"),
        ("1; select 2", "syntax error"),
        ("1) as value from answer where (true", "syntax error"),
        ("1 from answer", "syntax error"),
        ("(select max(answer) from answer)", "a subquery"),
        ("exists (select 1)", "a subquery"),
        ("text in (select text from answer)", "a subquery"),
        ("row_number() over ()", "a window function"),
        ("count(*)", "`count_star`"),
        ("sum(epoch)", "`sum`"),
        ("string_agg(text, '')", "`string_agg`"),
        ("unnest([1])", "`unnest`"),
        ("columns('a')", "a star"),
        ("*", "a star"),
        ("$x", "a parameter"),
        ("?", "a parameter"),
        ("#1", "by its position"),
        ("random() > 0.5", "`random`"),
        ("uuid() = text", "`uuid`"),
        ("now() > '2026-01-01'", "`now`"),
        ("current_date > '2026-01-01'", "`current_date`"),
        ("CURRENT_TIMESTAMP is null", "`current_timestamp`"),
        ("age('2026-01-01'::timestamp) is null", "`age`"),
        ("today() is null", "`today`"),
        ("sleep_ms(1000) is null", "`sleep_ms`"),
        ("pg_sleep(1) is null", "`pg_sleep`"),
        ("getvariable('x') = 1", "`getvariable`"),
        ("current_setting('threads') = '1'", "`current_setting`"),
        ("getenv('HOME') = ''", "`getenv`"),
        ("read_text('/etc/passwd') is null", "`read_text`"),
        ("glob('*') is null", "`glob`"),
        ("nextval('s') = 1", "`nextval`"),
        ("write_log('x') is null", "`write_log`"),
        ("json_execute_serialized_sql('x') is null", "`json_execute_serialized_sql`"),
        ("json_serialize_plan('select 1') is null", "`json_serialize_plan`"),
        ("list_transform([1], lambda x: random()) = [1]", "`random`"),
        ("main.lower(text) = ''", "another schema"),
        ("version() = ''", "`version`"),
    ],
)
def test_nothing_but_a_scalar_expression_over_one_answer_is_taken(expression: str, message: str) -> None:
    faults = expression_faults(expression, "spec.yaml:3", "scorers.s.sql")
    assert faults, expression
    assert {(fault.where, fault.field) for fault in faults} == {("spec.yaml:3", "scorers.s.sql")}
    assert any(message in fault.message for fault in faults), faults


@pytest.mark.parametrize(
    "expression",
    [
        "text ilike '%' || answer || '%'",
        "regexp_extract(text, '(\\d+)', 1)::int between 1 and 2 + epoch",
        "list_contains(targets, text) and not list_any_value([y = 'a' for y in choices])",
        "len(list_filter(targets, lambda t, n: contains(text, t) and n > 0)) > 0",
        "coalesce(nullif(trim(text), ''), '-') = any_column -- as it stands",
        "if(try_cast(extracted as double) is null, 0, 1 - abs(extracted::double - target::double) / 10)",
        "text collate nocase = answer",
        "(response->>'$.a.b') = answer",
        "json_extract_string(tool_calls, '$[0].name') = 'f'",
        "levenshtein(lower(text), lower(target)) <= 2",
        "date_diff('day', a::date, date '2026-01-01') = 3 and strftime(a::date, '%Y') = '2026'",
        "{'score': 1, 'extracted': text[1:3], 'detail': format('{} of {}', epoch, 3)}",
        "case text when 'a' then 1 else 0 end",
        "-epoch + 2 * 3 % 2",
    ],
)
def test_scalar_sql_is_taken(expression: str) -> None:
    assert expression_faults(expression, "", "") == []


def test_a_mistyped_function_is_answered_with_the_nearest_and_a_refused_one_is_not() -> None:
    (mistyped,) = expression_faults("lenght(text)", "sql", "spec.yaml")
    assert mistyped.fix == "did you mean `length`?"
    for refused in ("now()", "random()", "sum(1)"):
        assert all("did you mean" not in one.fix for one in expression_faults(refused, "sql", "spec.yaml"))


def test_an_expression_is_not_misled_by_a_parameter_of_a_lambda_that_is_called_like_a_clock() -> None:
    assert expression_faults("list_filter(targets, lambda x: x = current_date)", "", "") != []


def table(texts: list[str]) -> pa.Table:
    nothing = pa.nulls(len(texts), pa.string())
    return pa.table({"row": list(range(1, len(texts) + 1)), "text": texts, "extracted_by": nothing})


def test_one_row_that_asks_for_all_memory_costs_only_itself() -> None:
    with Evaluator("length(repeat('a', text::bigint)) > 0", Limits(memory_mb=300)) as evaluator:
        said = evaluator.evaluate(table(["1", "2", "4000000000", "3"]))
    assert [one.score for one in said] == [1.0, 1.0, None, 1.0]
    assert said[2].fault is not None
    assert "more than 300 MB of memory" in said[2].fault


def test_what_costs_the_process_its_life_is_told_on_every_row_that_is_left() -> None:
    slow = (
        "list_sum(list_transform(range(case text when 'slow' then 3000000000 else 3 end), lambda x: x)) > 0"
    )
    with Evaluator(slow, Limits(wall_s=1, cpu_s=30, memory_mb=100_000)) as evaluator:
        assert [one.score for one in evaluator.evaluate(table(["a", "b"]))] == [1.0, 1.0]
        for _ in range(2):
            (said,) = evaluator.evaluate(table(["slow"]))
            assert said.score is None
            assert said.fault is not None
            assert "the expression was stopped" in said.fault


def test_many_rows_in_error_are_each_told() -> None:
    texts = [str(number) if number % 3 else f"no {number}" for number in range(1, 100)]
    with Evaluator("text::int > 0") as evaluator:
        said = evaluator.evaluate(table(texts))
    for text, one in zip(texts, said, strict=True):
        assert (one.score, text.isdigit()) in ((1.0, True), (None, False))
        assert (one.fault is None) == text.isdigit()
        assert one.fault is None or repr(text) in one.fault
