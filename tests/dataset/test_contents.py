"""The text of a dataset's rows is on disk, and comes back as it was."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gradetrail.dataset.contents import BUFFER_BYTES, CHUNK_ROWS, Contents

LONG = "x" * (BUFFER_BYTES // 3)


def contents_of(texts: list[str]) -> Contents:
    contents = Contents()
    for text in texts:
        contents.append(text)
    return contents


@given(st.lists(st.sampled_from(["", "a", "é\0𝄞", LONG, LONG + "é"]), max_size=12), st.data())
def test_texts_come_back_by_position_and_in_chunks(texts: list[str], data: st.DataObject) -> None:
    contents = contents_of(texts)
    assert len(contents) == len(texts)
    assert [contents[position] for position in range(len(texts))] == texts
    assert [text for chunk in contents.chunks() for text in chunk] == texts
    assert contents.column().to_pylist() == texts
    wanted = sorted(data.draw(st.sets(st.integers(0, len(texts) - 1)))) if texts else []
    assert [text for chunk in contents.chunks(wanted) for text in chunk] == [texts[at] for at in wanted]


def test_chunks_hold_few_rows_and_few_megabytes() -> None:
    many = list(contents_of(["{}"] * (2 * CHUNK_ROWS + 1)).chunks())
    assert [len(chunk) for chunk in many] == [CHUNK_ROWS, CHUNK_ROWS, 1]
    large = list(contents_of([LONG] * 7).chunks())
    assert max(sum(map(len, chunk)) for chunk in large) <= BUFFER_BYTES
    assert sum(map(len, large)) == 7
