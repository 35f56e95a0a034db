import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from gradetrail.errors import SpecError
from gradetrail.providers import call_shape, open_provider
from gradetrail.providers.answers import Answers, load_answers
from gradetrail.providers.response import ToolCall, Usage
from gradetrail.request import KeyMaker
from tests.providers.calls import Asked, call, failure, faults_of, request_for, spec_of

MODEL = {"model": "replay/gpt", "answers": "answers.jsonl"}


def jsonl(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def loaded(path: Path) -> Answers:
    import hashlib

    return load_answers(path, hashlib.sha256(path.read_bytes()).hexdigest(), path.name)


def test_every_response_field_of_a_row_comes_back(tmp_path: Path) -> None:
    row = {
        "sample_id": "s1",
        "text": "four",
        "stop_reason": "length",
        "served_model": "gpt-1",
        "reasoning": "2 and 2",
        "input_tokens": 10,
        "cache_read_tokens": 5,
        "cache_write_tokens": 1,
        "output_tokens": 3,
        "reasoning_tokens": 2,
        "confidence": 0.75,
        "token_nll": 1.5,
        "token_count": 3,
        "latency_ms": 12.5,
        "raw_stop_reason": "max_tokens",
        "tool_calls": [{"name": "f", "arguments": {"a": 1}, "id": "c"}],
        "question": "ignored",
    }
    jsonl(tmp_path / "answers.jsonl", row)
    response = call(spec_of(MODEL, tmp_path))
    assert (response.text, response.reasoning, response.served_model) == ("four", "2 and 2", "gpt-1")
    assert (response.stop_reason, response.raw_stop_reason) == ("length", "max_tokens")
    assert response.usage == Usage(10, 5, 1, 3, 2)
    assert (response.confidence, response.token_nll, response.token_count) == (0.75, 1.5, 3)
    assert (response.latency_ms, response.origin) == (12.5, "replay")
    assert response.tool_calls == (ToolCall("f", '{"a": 1}', "c"),)


def test_what_a_row_leaves_out_is_none(tmp_path: Path) -> None:
    jsonl(tmp_path / "answers.jsonl", {"sample_id": "s1", "text": None})
    response = call(spec_of(MODEL, tmp_path))
    assert (response.text, response.stop_reason, response.usage) == ("", None, Usage())
    assert (response.confidence, response.latency_ms) == (None, None)


def test_a_sample_without_an_answer_is_an_error_and_no_empty_answer(tmp_path: Path) -> None:
    jsonl(tmp_path / "answers.jsonl", {"sample_id": "other", "text": "x"})
    error = failure(spec_of(MODEL, tmp_path))
    assert error.error_type == "no_answer"
    assert "`s1`" in str(error)


def test_model_prompt_and_epoch_choose_among_the_rows_of_a_sample(tmp_path: Path) -> None:
    rows = [
        {"sample_id": "s1", "text": "anyone"},
        {"sample_id": "s1", "model": "gpt", "text": "gpt"},
        {"sample_id": "s1", "model": "gpt", "prompt": "cot", "text": "gpt cot"},
        {"sample_id": "s1", "model": "gpt", "epoch": 2, "text": "gpt 2"},
    ]
    answers = loaded(jsonl(tmp_path / "a.jsonl", *rows))

    def text(model: str, prompt: str, epoch: int) -> str | None:
        found = answers.find("s1", model, prompt, epoch)
        return None if found is None else found["text"]

    assert text("other", "plain", 1) == "anyone"
    assert text("gpt", "plain", 1) == "gpt"
    assert text("gpt", "cot", 1) == "gpt cot"
    assert text("gpt", "plain", 2) == "gpt 2"
    assert answers.find("s2", "gpt", "plain", 1) is None


def test_the_request_brings_prompt_and_epoch_to_the_lookup(tmp_path: Path) -> None:
    rows = [
        {"sample_id": "s1", "prompt": p, "epoch": e, "text": f"{p} {e}"} for p in ("a", "b") for e in (1, 2)
    ]
    jsonl(tmp_path / "answers.jsonl", *rows)
    assert call(spec_of(MODEL, tmp_path), Asked(prompt="b", epoch=2)).text == "b 2"
    assert failure(spec_of(MODEL, tmp_path), Asked(prompt="c")).error_type == "no_answer"


def test_two_rows_of_equal_standing_are_refused_with_their_numbers(tmp_path: Path) -> None:
    rows = [
        {"sample_id": "s1", "text": "x"},
        {"sample_id": "s2", "text": "x"},
        {"sample_id": "s1", "text": "y"},
    ]
    jsonl(tmp_path / "answers.jsonl", *rows)
    (fault,) = faults_of(MODEL, tmp_path)
    assert "two answers for sample `s1`: rows 1 and 3" in fault


ROWS: list[dict[str, Any]] = [
    {"sample_id": "007", "text": 'a,\n"b"', "confidence": 0.5},
    {"sample_id": "1", "text": "é", "confidence": None},
]


def as_csv(rows: list[dict[str, Any]], separator: str) -> str:
    import csv
    import io

    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator)
    writer.writerow(rows[0])
    writer.writerows(["" if value is None else value for value in row.values()] for row in rows)
    return text.getvalue()


def written(path: Path) -> Path:
    lines = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
    match path.name.split(".", 1)[1]:
        case "jsonl":
            path.write_bytes(b"\xef\xbb\xbf" + lines + b"\n")
        case "jsonl.gz":
            path.write_bytes(gzip.compress(lines))
        case "jsonl.zst":
            path.write_bytes(b"".join(zstandard.compress(line) for line in lines.splitlines(keepends=True)))
        case "json":
            path.write_text(json.dumps(ROWS))
        case "csv":
            path.write_text("\ufeff" + as_csv(ROWS, ","), newline="")
        case "tsv.gz":
            path.write_bytes(gzip.compress(as_csv(ROWS, "\t").encode()))
        case "parquet":
            pq.write_table(pa.Table.from_pylist(ROWS), path)
    return path


KINDS = ["jsonl", "jsonl.gz", "jsonl.zst", "json", "csv", "tsv.gz", "parquet"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_file_gives_the_same_answers(tmp_path: Path, kind: str) -> None:
    answers = loaded(written(tmp_path / f"a.{kind}"))
    found = [answers.find(sample_id, "m", "p", 1) for sample_id in ("007", "1", "7")]
    assert len(answers) == 2
    assert [one and (one["text"], one.get("confidence")) for one in found] == [
        ('a,\n"b"', 0.5),
        ("é", None),
        None,
    ]


def test_ids_are_text_so_that_1_and_its_text_are_one(tmp_path: Path) -> None:
    answers = loaded(
        jsonl(tmp_path / "a.jsonl", {"sample_id": 1, "text": "x"}, {"sample_id": 2**70, "text": "y"})
    )
    assert answers.find("1", "m", "p", 1) is not None
    assert answers.find(str(2**70), "m", "p", 1) is not None


@pytest.mark.parametrize("packed", [gzip.compress, zstandard.compress])
def test_a_file_that_ends_in_the_middle_is_refused_and_not_read_in_part(tmp_path: Path, packed: Any) -> None:
    suffix = "gz" if packed is gzip.compress else "zst"
    whole = packed("".join(json.dumps({"sample_id": n, "text": str(n)}) + "\n" for n in range(2000)).encode())
    (tmp_path / f"a.jsonl.{suffix}").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(SpecError, match=r"ends in the middle|cannot read|not JSON"):
        loaded(tmp_path / f"a.jsonl.{suffix}")
    (tmp_path / f"b.jsonl.{suffix}").write_bytes(b"no such format")
    with pytest.raises(SpecError, match="cannot read"):
        loaded(tmp_path / f"b.jsonl.{suffix}")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ('{"sample_id": "a", "text": "x"}\n{"sample_id": ', "answers.jsonl:2: models.0.answers: not JSON"),
        ('{"id": "a", "text": "x"}', "answers need a `sample_id`"),
        ('{"sample_id": "a"}', "answers.jsonl:1: models.0.answers: `text` is missing"),
        ('{"sample_id": "a", "text": "x", "confidence": 1.5}', "`confidence` 1.5 is not in [0, 1]"),
        ('{"sample_id": "a", "text": "x", "confidence": NaN}', "`confidence` nan is not a number"),
        ('{"sample_id": "a", "text": "x", "token_nll": -1}', "`token_nll` -1 is not a number of 0 or more"),
        (
            '{"sample_id": "a", "text": "x", "output_tokens": 1.5}',
            "`output_tokens` 1.5 is not a whole number",
        ),
        ('{"sample_id": "a", "text": "x", "output_tokens": true}', "`output_tokens` True is not a number"),
        ("[1]", "not an object"),
        ("", "no answers in the file"),
        ("\n\n", "no answers in the file"),
    ],
)
def test_a_faulty_file_is_refused_before_the_run_with_its_place(
    tmp_path: Path, content: str, told: str
) -> None:
    from gradetrail.providers import check_model

    (tmp_path / "answers.jsonl").write_text(content)
    spec = spec_of(MODEL, tmp_path)
    assert any(told in str(fault) for fault in check_model(spec, spec.models[0], "models.0"))


def test_all_faulty_rows_are_named_together(tmp_path: Path) -> None:
    jsonl(tmp_path / "answers.jsonl", *({"sample_id": str(n)} for n in range(3)))
    assert len(faults_of(MODEL, tmp_path)) == 3


def test_a_file_that_is_not_there_is_refused_before_the_run(tmp_path: Path) -> None:
    assert "cannot read `answers.jsonl`" in faults_of(MODEL, tmp_path)[0]
    (tmp_path / "a.xml").write_text("")
    assert "unknown kind of file" in faults_of({**MODEL, "answers": "a.xml"}, tmp_path)[0]
    (tmp_path / "a.parquet").write_bytes(b"PAR1 nothing")
    assert "not a Parquet file" in faults_of({**MODEL, "answers": "a.parquet"}, tmp_path)[0]


def test_two_models_of_one_file_share_it_and_an_edited_file_is_read_anew(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "a.jsonl", {"sample_id": "s1", "text": "one"})
    assert loaded(path) is loaded(path)
    old = loaded(path)
    jsonl(path, {"sample_id": "s1", "text": "two"})
    assert loaded(path) is not old
    found = loaded(path).find("s1", "m", "p", 1)
    assert found is not None
    assert found["text"] == "two"


def test_a_lone_surrogate_in_an_answer_is_replaced_and_marked(tmp_path: Path) -> None:
    (tmp_path / "answers.jsonl").write_text('{"sample_id": "s1", "text": "half \\ud835"}\n')
    response = call(spec_of(MODEL, tmp_path))
    assert (response.text, response.is_text_repaired) == ("half \ufffd", True)


SAMPLE = {"out": {"text": "deep", "list": ["a", {"b": 5}]}, "dotted.name": "flat", "null": None}


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("out.text", "deep"),
        ("out.list.0", "a"),
        ("out.list.1.b", "5"),
        ("dotted.name", "flat"),
        ("out.list.1", '{"b": 5}'),
    ],
)
def test_a_field_of_the_sample_is_the_answer(field: str, text: str) -> None:
    response = call(spec_of({"model": "replay/old", "field": field}), Asked(sample=SAMPLE))
    assert (response.text, response.origin) == (text, "replay")


@pytest.mark.parametrize("field", ["nothing", "out.nothing", "out.list.9", "null", "out.text.x"])
def test_a_sample_without_the_field_is_an_error(field: str) -> None:
    error = failure(spec_of({"model": "replay/old", "field": field}), Asked(sample=SAMPLE))
    assert error.error_type == "no_answer"
    assert f"`{field}`" in str(error)


def test_a_path_with_an_empty_step_is_refused() -> None:
    assert faults_of({"model": "replay/old", "field": "a..b"}) == ["models.0.field: `a..b` is not a path"]


def test_the_key_holds_what_the_lookup_uses(tmp_path: Path) -> None:
    jsonl(tmp_path / "answers.jsonl", {"sample_id": "s1", "text": "x"})
    spec = spec_of(MODEL, tmp_path)
    shape = call_shape(spec, spec.models[0])

    def key(prompt: str, epoch: int, sample_id: str) -> str:
        return KeyMaker(shape, prompt).key(b"[]", epoch, "hash", sample_id)

    keys = {key("a", 1, "s1"), key("b", 1, "s1"), key("a", 2, "s1"), key("a", 1, "s2")}
    jsonl(tmp_path / "answers.jsonl", {"sample_id": "s1", "text": "y"})
    shape = call_shape(spec, spec.models[0])
    assert len(keys | {key("a", 1, "s1")}) == 5


@given(
    st.dictionaries(
        st.tuples(st.text(min_size=1, max_size=3), st.integers(1, 3)), st.text(max_size=5), min_size=1
    )
)
def test_every_recorded_answer_is_found_again(
    tmp_path_factory: pytest.TempPathFactory, rows: dict[Any, str]
) -> None:
    path = tmp_path_factory.mktemp("answers") / "a.jsonl"
    answers = loaded(
        jsonl(path, *({"sample_id": s, "epoch": e, "text": text} for (s, e), text in rows.items()))
    )
    for (sample_id, epoch), text in rows.items():
        found = answers.find(sample_id, "m", "p", epoch)
        assert found is not None
        assert found["text"] == text
    assert answers.find("no such sample", "m", "p", 1) is None


def test_many_calls_share_one_open_provider(tmp_path: Path) -> None:
    import asyncio

    jsonl(tmp_path / "answers.jsonl", *({"sample_id": f"s{n}", "text": str(n)} for n in range(50)))
    spec = spec_of(MODEL, tmp_path)

    async def every() -> list[str]:
        shape = call_shape(spec, spec.models[0])
        provider = open_provider(spec, spec.models[0], shape, concurrency=8, timeout_s=5)
        asked = [request_for(spec, Asked(sample_id=f"s{n}")) for n in range(50)]
        return [
            one.text for one in await asyncio.gather(*(provider.complete(request, 5) for request in asked))
        ]

    assert asyncio.run(every()) == [str(n) for n in range(50)]
