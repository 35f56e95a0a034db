from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from gradetrail.errors import StoreError
from gradetrail.store import Store
from gradetrail.store.journal import LineEncoder, encode_header, parse
from tests.store.rows import (
    NOW,
    OTHER,
    RUN,
    answered,
    call,
    failed,
    planned,
    response,
    rows_of,
    statuses,
    texts,
    trial,
)


def lines(n: int) -> list[bytes]:
    encode = LineEncoder(RUN)
    return [encode(**answered(number)) for number in range(n)]


def test_rows_come_back_as_they_were_appended() -> None:
    journal = parse(LineEncoder(RUN)(**answered(3)), "j")
    found = {table: rows.to_pylist()[0] for table, rows in journal.tables.items()}
    given = {"responses": response(3), "calls": call(3), "trials": trial(3, "answered")}
    assert {table: {k: v for k, v in row.items() if v is not None} for table, row in found.items()} == given
    assert found["calls"]["billed_usd"] == Decimal("0.000123456")
    assert found["responses"]["created_at"] == NOW


def test_a_failed_request_has_no_response_but_its_calls_and_trials() -> None:
    journal = parse(LineEncoder(RUN)(**failed(1)), "j")
    assert [rows.num_rows for rows in journal.tables.values()] == [0, 1, 1]


@pytest.mark.parametrize(
    "text", ["a\nb", "\u2028 \u2029 \u0085", '{"a": "\\n"}', "\U0001d518 \x00 \x1f", "", '"', "\\"]
)
def test_no_text_can_break_a_line_in_two(text: str) -> None:
    line = LineEncoder(RUN)(**answered(1, text=text))
    assert line.count(b"\n") == 1
    assert parse(line, "j").tables["responses"].column("text").to_pylist() == [text]


def short_line(number: int) -> bytes:
    own = {"run_id": RUN, "request_key": f"k{number}"}
    key = {"model": "m", "prompt": "p", "sample_id": f"s{number}", "epoch": 1}
    return LineEncoder(RUN)(
        {**own, "response_id": f"r{number}", "text": f"answer {number}"},
        [{**own, "call_id": f"c{number}"}],
        [{**own, **key, "status": "answered"}],
    )


def test_a_journal_cut_at_any_byte_loses_only_its_last_line() -> None:
    header, body = encode_header({"run_id": RUN}), [short_line(number) for number in range(3)]
    whole = header + b"".join(body)
    ends = [len(header) + sum(map(len, body[:n])) for n in range(4)]
    for cut in range(len(whole) + 1):
        journal = parse(whole[:cut], "j")
        n_whole = sum(end <= cut for end in ends[1:])
        assert journal.tables["responses"].column("text").to_pylist() == [
            f"answer {n}" for n in range(n_whole)
        ]
        assert journal.tables["trials"].num_rows == n_whole
        assert journal.faults == ()
        assert (journal.torn_bytes == 0) == (cut in (0, *ends))


def test_a_cut_off_writer_is_taken_up_at_any_byte_with_nothing_lost_or_doubled(tmp_path: Path) -> None:
    body = lines(2)
    whole = b"".join(body)
    for cut in range(0, len(whole) + 1, 97):
        root = tmp_path / f"at{cut}"
        store = planned(root, 2)
        journal = root / "journal" / f"{RUN}.1.jsonl"
        journal.parent.mkdir()
        journal.write_bytes(whole[:cut])
        expected = [f"answer {n}" for n in range(2) if sum(map(len, body[: n + 1])) <= cut]
        assert texts(store.live()) == expected
        with store.writer(RUN) as writer:
            assert writer.absorbed.n_parts == 1
            assert writer.absorbed.n_torn == (cut not in (0, len(body[0]), len(whole)))
            writer.append(**answered(1))
        live = store.live()
        assert set(texts(live)) == {*expected, "answer 1"}
        assert statuses(live) == ({"answered": 2} if expected else {"answered": 1, "pending": 1})


def test_a_damaged_line_is_named_and_the_other_lines_count(tmp_path: Path) -> None:
    body = lines(5)
    body[2] = body[2][:40] + b"\n"
    journal = parse(b"".join(body), "journal/x.jsonl")
    assert journal.tables["responses"].column("text").to_pylist() == [f"answer {n}" for n in (0, 1, 3, 4)]
    assert [fault.where for fault in journal.faults] == ["journal/x.jsonl:3"]


@pytest.mark.parametrize(
    "line",
    [
        b"{}{}\n",
        b"\n",
        b"null\n",
        b'{"response":null,"calls":[],"trials":[],"more":1}\n',
        b'{"response":null,"calls":[],"trials":[{"run_id":"r"}]}\n',
        b'{"response":null,"calls":[{"call_id":"c","run_id":"r","request_key":"k","latency_ms":NaN}],"trials":[]}\n',
        b'{"response":null,"calls":[{"call_id":"c","run_id":"r","request_key":"k","turn":1.5}],"trials":[]}\n',
    ],
    ids=[
        "glued",
        "empty",
        "null",
        "unknown field",
        "a trial without its key",
        "NaN",
        "a fraction for a number",
    ],
)
def test_a_line_that_is_json_but_no_record_is_damage_too(line: bytes) -> None:
    whole = lines(2)
    journal = parse(whole[0] + line + whole[1], "j")
    assert [fault.where for fault in journal.faults] == ["j:2"]
    assert journal.tables["responses"].num_rows == 2


def test_a_damaged_line_goes_to_quarantine_with_its_part_and_the_rest_is_sealed(tmp_path: Path) -> None:
    store = planned(tmp_path, 2)
    body = lines(2)
    (tmp_path / "journal").mkdir()
    part = tmp_path / "journal" / f"{RUN}.1.jsonl"
    part.write_bytes(body[0] + b"garbage\n" + body[1])
    assert [fault.where for fault in store.live().damaged] == [f"{part}:2"]
    with store.writer(RUN) as writer:
        assert [fault.where for fault in writer.absorbed.faults] == [f"{part}:2"]
    assert statuses(store.live()) == {"answered": 2}
    assert store.live().damaged == []
    assert (tmp_path / "quarantine" / part.name).read_bytes().count(b"garbage") == 1


def test_the_first_line_of_a_writers_journal_is_its_header(tmp_path: Path) -> None:
    store = planned(tmp_path, 1)
    with store.writer(RUN, header={"run_id": RUN, "plan_version": 1}) as writer:
        writer.append(**answered(0))
        writer.flush()
        (part,) = (tmp_path / "journal").glob("*.jsonl")
        journal = parse(part.read_bytes(), "j")
        assert journal.header == {"run_id": RUN, "plan_version": 1}
        assert journal.tables["trials"].num_rows == 1


def test_lone_surrogates_become_a_replacement_character_and_the_answer_says_so(tmp_path: Path) -> None:
    store = planned(tmp_path, 1)
    with store.writer(RUN) as writer:
        writer.append(**answered(0, text="a \ud835 b"))
    (row,) = rows_of(store.live(), "responses", "text, is_text_repaired")
    assert row == ("a \ufffd b", True)


@pytest.mark.parametrize(
    ("rows", "field"),
    [
        ({"calls": [call(1, latency_ms=float("nan"))]}, "latency_ms"),
        ({"calls": [call(1, latency_ms=float("-inf"))]}, "latency_ms"),
        ({"calls": [call(1, input_tokens=2**63)]}, "input_tokens"),
        ({"calls": [call(1, turn=2**31)]}, "turn"),
        ({"calls": [call(1, turn=1.0)]}, "turn"),
        ({"calls": [call(1, attempt=True)]}, "attempt"),
        ({"calls": [call(1, billed_usd=Decimal("NaN"))]}, "billed_usd"),
        ({"calls": [call(1, billed_usd=Decimal(10**9))]}, "billed_usd"),
        ({"calls": [call(1, billed_usd=0.1)]}, "billed_usd"),
        ({"calls": [call(1, started_at="2026-11-30")]}, "started_at"),
        ({"response": response(1, text=7)}, "text"),
        ({"response": response(1, request_key=None)}, "request_key"),
        ({"trials": [trial(1, sample_id=None)]}, "sample_id"),
    ],
)
def test_a_value_that_could_not_be_read_back_is_refused_before_it_is_written(
    tmp_path: Path, rows: dict[str, object], field: str
) -> None:
    store = planned(tmp_path, 1)
    with store.writer(RUN) as writer:
        with pytest.raises(StoreError) as caught:
            writer.append(**{"response": None, "calls": [], "trials": [], **rows})
        assert [fault.field for fault in caught.value.faults] == [field]
        writer.append(**answered(0))  # a refused row leaves no trace
    assert texts(store.live()) == ["answer 0"]


def test_an_unknown_column_is_refused_and_the_nearest_is_named() -> None:
    with pytest.raises(StoreError, match="did you mean `latency_ms`"):
        LineEncoder(RUN)(response=None, calls=[call(1, latency=3.0)], trials=[])


def test_a_row_of_another_run_is_refused() -> None:
    with pytest.raises(StoreError, match=OTHER):
        LineEncoder(RUN)(response=None, calls=[], trials=[trial(1, run_id=OTHER)])


def test_costs_are_kept_to_the_billionth_of_a_dollar() -> None:
    line = LineEncoder(RUN)(response=None, calls=[call(1, billed_usd=Decimal("1.2E-7"))], trials=[])
    assert parse(line, "j").tables["calls"].column("billed_usd").to_pylist() == [Decimal("0.000000120")]


def test_a_time_without_a_zone_is_utc() -> None:
    naive = datetime(2026, 11, 30, 1, 2, 3)  # noqa: DTZ001
    line = LineEncoder(RUN)(response=response(1, created_at=naive), calls=[], trials=[])
    assert parse(line, "j").tables["responses"].column("created_at").to_pylist() == [
        naive.replace(tzinfo=UTC)
    ]


def test_a_line_longer_than_every_buffer_is_read_back(tmp_path: Path) -> None:
    store = planned(tmp_path, 2)
    long = "long " * 2_000_000
    with store.writer(RUN) as writer:
        writer.append(**answered(0, text=long))
        writer.append(**answered(1))
        writer.flush()
        assert [len(text) for text in texts(store.live())] == [len("answer 1"), len(long)]
    assert [len(text) for text in texts(store.live())] == [len("answer 1"), len(long)]


def test_an_opened_store_reads_a_journal_that_grows(tmp_path: Path) -> None:
    reader = planned(tmp_path, 3)
    with Store(tmp_path).writer(RUN) as writer:
        for number in range(3):
            assert len(texts(reader.live())) == number
            writer.append(**answered(number))
            writer.flush()
        assert len(texts(reader.live())) == 3


def flipped_everywhere(whole: bytes) -> Iterator[bytes]:
    """Flip one bit of each byte, another one from byte to byte, and each bit of the last byte."""
    places = [8 * at + at % 8 for at in range(len(whole))] + [8 * (len(whole) - 1) + bit for bit in range(8)]
    for place in places:
        flipped = bytearray(whole)
        flipped[place // 8] ^= 1 << (place % 8)
        yield bytes(flipped)


def test_a_flipped_bit_in_any_byte_of_a_journal_is_noticed_and_costs_the_lines_it_is_in() -> None:
    whole = b"".join([encode_header({"run_id": RUN}), *(short_line(number) for number in range(3))])
    said = parse(whole, "j").tables["responses"].column("text").to_pylist()
    for flipped in flipped_everywhere(whole):
        journal = parse(flipped, "j")
        assert journal.faults != ()
        left = journal.tables["responses"].column("text").to_pylist()
        assert [text for text in said if text in left] == left
        assert len(left) >= 1


def test_lines_without_a_digest_as_the_first_version_wrote_them_are_read() -> None:
    old = [re.sub(rb',"sha256":"[0-9a-f]{64}"}', b"}", line) for line in lines(2)]
    assert b"sha256" not in b"".join(old)
    journal = parse(old[0] + lines(3)[2] + old[1], "j")
    assert journal.faults == ()
    assert journal.tables["responses"].column("text").to_pylist() == ["answer 0", "answer 2", "answer 1"]
    header = re.sub(rb',"sha256":"[0-9a-f]{64}"}', b"}", encode_header({"run_id": RUN}))
    assert parse(header, "j").header == {"run_id": RUN}


def test_a_live_line_whose_newline_is_not_written_yet_is_no_damage() -> None:
    whole = lines(1)[0]
    journal = parse(whole[:-1], "j")
    assert (journal.faults, journal.torn_bytes) == ((), len(whole) - 1)
