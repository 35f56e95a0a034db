"""The public JSON test suite and the CSV spectrum, file by file."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest

from gradetrail.errors import DatasetError
from tests.dataset.loading import DATA, load, load_text, rows

SUITE = sorted((DATA / "json-test-suite").glob("*_*.json"))
VALID = [path for path in SUITE if path.name.startswith("y_")]
INVALID = [path for path in SUITE if path.name.startswith("n_")]
EITHER = [path for path in SUITE if path.name.startswith("i_")]
SPECTRUM = sorted((DATA / "csv-spectrum" / "csvs").glob("*.csv"))


def name_of(path: Path) -> str:
    return path.stem


def rows_in(path: Path) -> list[object]:
    """Give the rows of a document by the rule for `.json`: its list of objects, or the one inside it."""
    value = json.loads(path.read_bytes())
    lists = value.values() if isinstance(value, dict) else [value]
    found = [x for x in lists if isinstance(x, list) and x and all(isinstance(i, dict) for i in x)]
    return found[0] if len(found) == 1 else []


def in_a_list(document: bytes) -> bytes:
    return b'[{"id":"a","value":' + document + b"}]"


def in_a_line(document: bytes) -> bytes:
    return b'{"id":"a","value":' + document + b"}\n"


def test_the_suite_is_complete() -> None:
    assert (len(VALID), len(INVALID), len(EITHER)) == (95, 186, 35)
    assert len(SPECTRUM) == 12


@pytest.mark.parametrize("path", VALID, ids=name_of)
def test_a_valid_document_keeps_its_value_inside_a_json_row(path: Path) -> None:
    (row,) = rows(load_text(in_a_list(path.read_bytes()), "d.json"))
    assert row["value"] == json.loads(path.read_bytes())


@pytest.mark.parametrize(
    "path", [path for path in VALID if b"\n" not in path.read_bytes().strip()], ids=name_of
)
def test_a_valid_document_keeps_its_value_inside_a_line(path: Path) -> None:
    (row,) = rows(load_text(in_a_line(path.read_bytes().strip()), "d.jsonl"))
    assert row["value"] == json.loads(path.read_bytes())


@pytest.mark.parametrize("path", VALID, ids=name_of)
def test_a_valid_document_that_is_an_object_is_a_row(path: Path) -> None:
    value = json.loads(path.read_bytes())
    if isinstance(value, dict):
        assert rows(load_text(b"[" + path.read_bytes() + b"]", "d.json")) == [value]
    else:
        with pytest.raises(DatasetError, match="a row is an object, not "):
            load_text(b"[" + path.read_bytes() + b"]", "d.json")


@pytest.mark.parametrize("path", VALID, ids=name_of)
def test_a_valid_document_is_a_dataset_where_it_holds_one_list_of_objects(path: Path) -> None:
    expected = rows_in(path)
    if expected:
        assert rows(load(path)) == expected
    else:
        with pytest.raises(DatasetError, match=r"a row is an object|not a list of objects|there are no rows"):
            load(path)


def test_one_document_of_the_suite_is_a_dataset() -> None:
    assert [path.stem for path in VALID if rows_in(path)] == ["y_object_long_strings"]


@pytest.mark.parametrize("path", INVALID, ids=name_of)
def test_an_invalid_document_is_refused(path: Path) -> None:
    document = path.read_bytes()
    with pytest.raises(DatasetError):
        load(path)
    for data, name in ((in_a_list(document), "d.json"), (in_a_line(document), "d.jsonl")):
        with pytest.raises(DatasetError, match=r"not valid JSON|not UTF-8|is not JSON"):
            load_text(data, name)


REPAIRED = {
    "i_object_key_lone_2nd_surrogate",
    "i_string_1st_surrogate_but_2nd_missing",
    "i_string_1st_valid_surrogate_2nd_invalid",
    "i_string_incomplete_surrogate_and_escape_valid",
    "i_string_incomplete_surrogate_pair",
    "i_string_incomplete_surrogates_escape_valid",
    "i_string_invalid_lonely_surrogate",
    "i_string_invalid_surrogate",
    "i_string_inverted_surrogates_U+1D11E",
    "i_string_lone_second_surrogate",
}
KEPT = {
    "i_number_double_huge_neg_exp",
    "i_number_real_underflow",
    "i_number_too_big_neg_int",
    "i_number_too_big_pos_int",
    "i_number_very_big_negative_int",
}


@pytest.mark.parametrize("path", EITHER, ids=name_of)
def test_a_document_that_may_go_either_way_is_kept_repaired_or_refused_with_a_reason(path: Path) -> None:
    data = in_a_line(path.read_bytes())
    if path.stem in KEPT | REPAIRED:
        samples = load_text(data)
        assert bool(samples.warnings) == (path.stem in REPAIRED)
        (row,) = rows(samples)
        if path.stem in KEPT:
            assert row["value"] == json.loads(path.read_bytes())
        else:
            assert "\ufffd" in json.dumps(row, ensure_ascii=False)
    else:
        with pytest.raises(DatasetError) as caught:
            load_text(data)
        assert all(fault.where.endswith("d.jsonl:1") for fault in caught.value.faults)


@pytest.mark.parametrize("path", EITHER, ids=name_of)
def test_such_a_document_never_raises_anything_else(path: Path) -> None:
    for source in (path.read_bytes(), in_a_list(path.read_bytes())):
        with contextlib.suppress(DatasetError):
            assert load_text(source, "d.json").selected.num_rows > 0


def spectrum_rows(path: Path) -> list[dict[str, str]]:
    expected = json.loads((DATA / "csv-spectrum" / "json" / f"{path.stem}.json").read_text(encoding="utf-8"))
    if path.stem == "location_coordinates":
        # the suite's two files disagree on the phone number, and its JSON is the row itself
        return [{**expected, "Contact Phone Number": "2095257564"}]
    return list(expected)


@pytest.mark.parametrize("path", SPECTRUM, ids=name_of)
def test_csv_spectrum(path: Path) -> None:
    # the `_crlf` files are stored with \n; here they get back the line ends that their JSON expects
    ends = b"\r\n" if path.stem.endswith("_crlf") else b"\n"
    assert rows(load_text(path.read_bytes().replace(b"\n", ends), "d.csv")) == spectrum_rows(path)


@pytest.mark.parametrize("path", [p for p in SPECTRUM if not p.stem.endswith("_crlf")], ids=name_of)
def test_csv_spectrum_with_crlf(path: Path) -> None:
    expected = [{key: cell.replace("\n", "\r\n") for key, cell in row.items()} for row in spectrum_rows(path)]
    assert rows(load_text(path.read_bytes().replace(b"\n", b"\r\n"), "d.csv")) == expected
