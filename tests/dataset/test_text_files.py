"""JSON Lines, JSON, CSV and TSV load as they are written, or say where and why they do not."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import sys
from pathlib import Path

import pytest
import zstandard

from gradetrail.dataset import load_samples
from gradetrail.errors import DatasetError
from tests.dataset.loading import DATA, contents, ids, load, load_text, rows, spec_of

CASES = DATA / "cases"


def faults_of(content: str | bytes, name: str = "d.jsonl", **dataset: object) -> list[str]:
    """Give the faults of a file that must not load, with only the file's name in each place."""
    with pytest.raises(DatasetError) as caught:
        load_text(content, name, **dataset)
    return [str(fault).replace(str(Path(fault.where).parent) + "/", "") for fault in caught.value.faults]


class TestJsonLines:
    def test_blank_lines_and_a_missing_last_newline_change_nothing(self) -> None:
        samples = load(CASES / "blank_lines.jsonl")
        assert ids(samples) == ["a", "b", "c"]
        assert [row["target"] for row in rows(samples)] == ["2", "4", "6"]

    def test_only_newlines_end_a_row(self) -> None:
        assert [(row["question"], row["target"]) for row in rows(load(CASES / "unicode_seps.jsonl"))] == [
            ("before\u2028after", "x\x85y"),
            ("p\u2029q\fr", "ok"),
        ]

    def test_crlf_and_a_byte_order_mark_are_no_part_of_the_rows(self) -> None:
        samples = load_text(b'\xef\xbb\xbf{"id":"a","q":"x"}\r\n{"id":"b","q":"y\\r"}\r\n')
        assert contents(samples) == ['{"id":"a","q":"x"}', '{"id":"b","q":"y\\r"}']

    def test_a_key_that_early_rows_lack_is_kept(self) -> None:
        assert [sorted(row) for row in rows(load(CASES / "late_key.jsonl"))] == [
            ["id", "question", "target"],
            ["id", "question", "target", "topic"],
            ["id", "level", "question", "target", "topic"],
        ]

    @pytest.mark.parametrize("name", ["date_like", "iso_like", "mixed_like", "uuid_like", "emoji"])
    def test_text_that_looks_like_something_else_stays_text(self, name: str) -> None:
        lines = (CASES / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
        assert contents(load(CASES / f"{name}.jsonl")) == lines
        assert rows(load(CASES / f"{name}.jsonl")) == [json.loads(line) for line in lines]

    def test_a_row_keeps_its_own_text(self) -> None:
        line = '{"id": "a",  "price": 1.50, "big": 1E5, "neg": -0, "escaped": "\\u00e9\\/"}'
        assert contents(load_text(line)) == [line]

    def test_a_line_of_20_mb_loads(self) -> None:
        text = "long context " * 1_600_000
        (row,) = rows(load_text(json.dumps({"id": "a", "context": text})))
        assert row["context"] == text

    def test_a_trailing_comma_is_refused_with_its_line(self) -> None:
        with pytest.raises(DatasetError) as caught:
            load(CASES / "bad_line.jsonl")
        (fault,) = caught.value.faults
        assert fault.where.endswith("bad_line.jsonl:2")
        assert fault.message == "not valid JSON: trailing comma before column 42"
        assert fault.fix == "remove the comma"

    @pytest.mark.parametrize(
        ("line", "fault"),
        [
            ('{"a": 1} {"b": 2}', "more after the value, at column 10: '{\"b\": 2}'"),
            ("{'a': 1}", "Expecting property name enclosed in double quotes at column 2"),
            ('{"a": "x', "Unterminated string starting at column 7"),
            ('{"a": "tab\there"}', "Invalid control character at column 11"),
            ('{"a": "\0"}', "a NUL byte"),
            ("\0", "a NUL byte"),
            ("\xa0", "Expecting value at column 1"),
        ],
    )
    def test_what_is_not_json_is_refused_with_its_place(self, line: str, fault: str) -> None:
        (found,) = faults_of('{"id": 1}\n' + line)
        assert found.startswith(f"d.jsonl:2: not valid JSON: {fault}")

    @pytest.mark.parametrize(
        ("line", "kind"),
        [("3", "a number"), ('"x"', "a string"), ("null", "null"), ("true", "true"), ("[1]", "a list")],
    )
    def test_a_row_that_is_no_object_is_refused(self, line: str, kind: str) -> None:
        (found,) = faults_of('{"id": 1}\n\n' + line)
        assert found.startswith(f"d.jsonl:3: a row is an object, not {kind}")

    def test_all_faults_are_shown_up_to_twenty_and_the_rest_counted(self) -> None:
        found = faults_of('{"id": "ok"}\n' + "{]\n" * 1_234)
        assert len(found) == 21
        assert found[0].startswith("d.jsonl:2: ")
        assert found[19].startswith("d.jsonl:21: ")
        assert found[20] == "and 1,214 more"

    def test_text_that_is_not_utf_8_is_refused_with_byte_offset_and_line(self) -> None:
        found = faults_of(b'\xef\xbb\xbf{"id": 1}\n{"id": "caf\xe9"}\n')
        assert found == [
            "d.jsonl:2: not UTF-8: byte 0xe9 at offset 24 of the file\n    fix: save the file as UTF-8"
        ]

    def test_a_list_in_a_jsonl_file_is_pointed_out_once(self) -> None:
        (found,) = faults_of('[\n{"id": 1},\n{"id": 2}\n]\n')
        assert found.startswith("d.jsonl:1: the first line begins a list\n    fix: name the file .json")

    @pytest.mark.parametrize("depth", [129, 500, 5_000, 200_000])
    def test_deep_nesting_is_refused_not_a_crash(self, depth: int) -> None:
        for text in (
            '{"a":' + "[" * depth + "]" * depth + "}",
            '{"a":' + '{"b":' * depth + "1" + "}" * (depth + 1),
        ):
            (found,) = faults_of(text)
            assert found.startswith("d.jsonl:1: nested more than 128 deep")

    def test_many_brackets_side_by_side_are_not_deep(self) -> None:
        row = {
            "id": "a",
            "latex": "{[" * 200,
            "list": [[[]]] * 200,
            "deep": json.loads("[" * 126 + "]" * 126),
        }
        assert rows(load_text(json.dumps(row))) == [row]

    def test_the_last_of_repeated_keys_wins_and_is_what_is_kept(self) -> None:
        (content,) = contents(load_text('{"id":"a","x":1.50,"x":2.50,"y":{"z":1,"z":[1E2]}}'))
        assert content == '{"id":"a","x":2.50,"y":{"z":[1E2]}}'


class TestNumbers:
    def test_integers_keep_all_digits(self) -> None:
        line = '{"id":"a","n":123456789012345678901234567890,"m":9007199254740993,"k":-18446744073709551616}'
        samples = load_text(line)
        assert contents(samples) == [line]
        assert rows(samples)[0]["n"] == 123456789012345678901234567890

    def test_integers_that_differ_beyond_the_precision_of_a_double_have_different_hashes(self) -> None:
        hashes = [
            load_text(f'{{"id":"a","n":{n}}}').selected["sample_hash"][0].as_py()
            for n in (2**53, 2**53 + 1, 2**64, 2**64 + 1)
        ]
        assert len(set(hashes)) == 4

    @pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
    def test_words_that_json_has_no_numbers_for_are_refused_by_field(self, word: str) -> None:
        (found,) = faults_of(f'{{"id": 1, "scores": [{{"s": 1}}, {{"s": {word}}}]}}')
        assert found.startswith(f"d.jsonl:1: scores.1.s: {word} is not JSON")

    def test_a_float_beyond_the_range_is_refused_by_field(self) -> None:
        (found,) = faults_of('{"id": 1, "a": {"b": -1e400}}')
        assert found.startswith("d.jsonl:1: a.b: -1e400 is beyond the range of a double")

    def test_an_integer_with_more_digits_than_python_converts_is_refused_by_field(self) -> None:
        digits = sys.get_int_max_str_digits() + 1
        (found,) = faults_of(f'{{"id": 1, "n": -{"9" * digits}}}')
        assert found.startswith(f"d.jsonl:1: n: an integer of {digits:,} digits is too long")

    def test_every_such_number_of_a_row_is_named(self) -> None:
        found = faults_of('{"id": 1, "a": NaN, "b": 1e999}')
        assert [text.split(": ")[1] for text in found] == ["a", "b"]


class TestStrings:
    def test_half_a_surrogate_pair_is_replaced_and_said(self) -> None:
        samples = load(CASES / "lone_surrogate.jsonl")
        assert [row["question"] for row in rows(samples)] == [
            "half a letter: \ufffd end",
            "whole: \U0001d538",
            "plain",
        ]
        (warning,) = samples.warnings
        assert warning.endswith("lone_surrogate.jsonl:1: question: half a surrogate pair became U+FFFD")

    def test_a_repaired_row_keeps_the_text_of_its_numbers(self) -> None:
        samples = load_text('{"id":"a","\\ud800":1.50,"n":12345678901234567890123}')
        assert contents(samples) == ['{"id":"a","\ufffd":1.50,"n":12345678901234567890123}']

    def test_warnings_beyond_twenty_are_counted(self) -> None:
        lines = "".join(f'{{"id":{n},"a":"\\udc00"}}\n' for n in range(25))
        assert len(load_text(lines).warnings) == 21
        assert load_text(lines).warnings[-1] == "and 5 more warnings"

    def test_an_escaped_nul_is_text(self) -> None:
        (row,) = rows(load_text('{"id":"a","q":"x\\u0000y"}'))
        assert row["q"] == "x\0y"


class TestJson:
    def test_a_list_of_objects_keeps_each_object_as_written(self) -> None:
        samples = load_text('\n[ {"id": "a", "p": 1.50},\n{"id":\n"b"} ]\n', "d.json")
        assert contents(samples) == ['{"id": "a", "p": 1.50}', '{"id":\n"b"}']
        assert samples.warnings == ()

    def test_the_one_list_of_objects_in_an_object_is_taken_and_said(self) -> None:
        text = '{"version": 1, "tags": ["x"], "data": [1], "data": [{"id": "a"}], "meta": {"k": [{}]}}'
        samples = load_text(text, "d.json")
        assert ids(samples) == ["a"]
        assert samples.warnings[0].endswith("d.json: the rows are the list `data`")

    def test_two_lists_of_objects_are_ambiguous(self) -> None:
        (found,) = faults_of('{"train": [{"id": 1}], "test": [{"id": 2}]}', "d.json")
        assert found.startswith("d.json:1: the file holds several lists of objects: `train`, `test`")

    def test_a_single_object_is_refused(self) -> None:
        (found,) = faults_of('{"id": 1, "question": "x"}', "d.json")
        assert found.startswith("d.json:1: the file holds one object, not a list of objects")

    def test_json_lines_in_a_json_file_are_pointed_out(self) -> None:
        (found,) = faults_of('{"id": 1}\n{"id": 2}\n', "d.json")
        assert found.startswith("d.json:2: not valid JSON: more after the value")
        assert found.endswith("if each line is a row, name the file .jsonl")

    def test_a_fault_names_the_line_of_its_row(self) -> None:
        found = faults_of('[\n{"id": 1},\n\n{"id": 2,\n"x": NaN},\n7]', "d.json")
        assert [text.splitlines()[0] for text in found] == [
            "d.json:4: x: NaN is not JSON",
            "d.json:6: a row is an object, not a number",
        ]

    @pytest.mark.parametrize(
        ("text", "fault"),
        [
            ('[{"id": 1},]', "d.json:1: not valid JSON: trailing comma before column 12"),
            ('[{"id": 1} {"id": 2}]', "d.json:1: not valid JSON: Expecting ',' delimiter at column 12"),
            ('[{"id": 1}', "d.json:1: not valid JSON: Expecting ',' delimiter at column 11"),
            ('[{"id": 1}] x', "d.json:1: not valid JSON: more after the value, at column 13: 'x'"),
            ('[\n{"id": 1},\n{"id": }]', "d.json:3: not valid JSON: Expecting value at column 8"),
            ("[]", "d.json: there are no rows"),
            ("  ", "d.json:1: not valid JSON: Expecting value at column 3"),
            ("[" * 100_000, "d.json: nested too deep"),
        ],
    )
    def test_what_is_not_a_list_of_objects_is_refused(self, text: str, fault: str) -> None:
        (found,) = faults_of(text, "d.json")
        assert found.splitlines()[0] == fault

    def test_a_byte_order_mark_is_skipped_and_bad_bytes_are_placed(self) -> None:
        assert ids(load_text(b'\xef\xbb\xbf[{"id": "a"}]', "d.json")) == ["a"]
        (found,) = faults_of(b'\xef\xbb\xbf[\n{"id": "\xff"}]', "d.json")
        assert found.startswith("d.json:2: not UTF-8: byte 0xff at offset 13 of the file")


class TestCsv:
    def test_cells_stay_text_as_written(self) -> None:
        samples = load(CASES / "leading_zero.csv")
        assert [(row["id"], row["target"]) for row in rows(samples)] == [
            ("007", "01"),
            ("008", "NA"),
            ("009", "null"),
            ("010", "True"),
            ("011", "1.50"),
            ("012", ""),
        ]

    def test_a_byte_order_mark_is_no_part_of_the_first_column_and_quoted_newlines_stay(self) -> None:
        assert rows(load(CASES / "bom_crlf.csv")) == [
            {"question": "Name a colour,\r\nany colour", "target": "red"},
            {"question": "2+2?", "target": "4"},
        ]

    def test_tsv_splits_at_tabs_only(self) -> None:
        assert rows(load_text('id\tq\n1\t"a ""b""\tc"\n2\tx, y\n', "d.tsv")) == [
            {"id": "1", "q": 'a "b"\tc'},
            {"id": "2", "q": "x, y"},
        ]

    def test_a_row_equals_what_was_written(self) -> None:
        cells = ["plain", 'comma, quote " and\nnewline', " spaced ", "", "x\r\ny", "\u2028", "'", "1e5"]
        out = io.StringIO()
        writer = csv.writer(out)
        writer.writerow([f"c{n}" for n in range(len(cells))])
        writer.writerow(cells)
        (row,) = rows(load_text(out.getvalue(), "d.csv"))
        assert list(row.values()) == cells

    def test_a_cell_of_a_megabyte_loads(self) -> None:
        (row,) = rows(load_text("id,q\n1," + "x" * 1_000_000, "d.csv"))
        assert len(row["q"]) == 1_000_000

    @pytest.mark.parametrize(
        ("text", "fault"),
        [
            ("a,b,a\n1,2,3\n", "d.csv:1: column `a` stands twice in the header"),
            ("a,,c, \n1,2,3,4\n", "d.csv:1: the header has no name for column 2, 4"),
            ('a,b\n"x\ny",2\n3\n', "d.csv:4: 1 cells, but the header has 2"),
            ("a,b\n\n1,2,3\n", "d.csv:3: 3 cells, but the header has 2"),
            ('a,b\n"x"y,2\n', "d.csv:2: not valid CSV: ',' expected after '\"'"),
            ('a,b\n1,2\n\n"x,2\n3,4\n', "d.csv:4: not valid CSV: unexpected end of data"),
            ("a,b\n1,\0\n", "d.csv:2: a NUL byte"),
            ("a,b\r1,2\r", "d.csv:1: not valid CSV: new-line character seen in unquoted field"),
            ("a,b\n", "d.csv: there are no rows"),
            ("\n", "d.csv: there are no rows"),
        ],
    )
    def test_what_is_not_a_table_is_refused_with_its_line(self, text: str, fault: str) -> None:
        (found,) = faults_of(text, "d.csv")
        assert found.splitlines()[0].startswith(fault)

    def test_bad_bytes_are_refused_with_their_line(self) -> None:
        (found,) = faults_of(b"a,b\n1,2\n3,\xe9\n", "d.csv")
        assert found.startswith("d.csv:3: not UTF-8: byte 0xe9 at offset 10 of the file")


class TestFiles:
    @pytest.mark.parametrize("ending", [".gz", ".zst"])
    @pytest.mark.parametrize("name", ["six_rows.jsonl", "bom_crlf.csv", "usage_2.parquet"])
    def test_a_compressed_file_is_the_same_dataset(self, tmp_path: Path, name: str, ending: str) -> None:
        data = (CASES / name).read_bytes()
        packed = gzip.compress(data) if ending == ".gz" else zstandard.compress(data)
        (tmp_path / f"{name}{ending}").write_bytes(packed)
        assert load(tmp_path / f"{name}{ending}").dataset_id == load(CASES / name).dataset_id

    @pytest.mark.parametrize("ending", [".gz", ".zst"])
    def test_concatenated_members_are_read_through(self, ending: str) -> None:
        pack = gzip.compress if ending == ".gz" else zstandard.compress
        data = pack(b'{"id":"a"}\n') + pack(b'{"id":"b"}\n')
        assert ids(load_text(data, f"d.jsonl{ending}")) == ["a", "b"]

    @pytest.mark.parametrize("ending", [".gz", ".zst"])
    @pytest.mark.parametrize("kept", [0.5, 0.99])
    def test_a_truncated_file_never_passes_for_a_shorter_one(self, ending: str, kept: float) -> None:
        lines = "".join(
            json.dumps({"id": n, "q": hashlib.sha256(b"%d" % n).hexdigest()}) + "\n" for n in range(20_000)
        ).encode()
        data = gzip.compress(lines) if ending == ".gz" else zstandard.compress(lines)
        found = faults_of(data[: int(len(data) * kept)], f"d.jsonl{ending}")
        assert any("cannot be read" in fault for fault in found)

    def test_a_glob_takes_every_file_in_the_order_of_names(self, tmp_path: Path) -> None:
        for name in ("b.jsonl", "a.jsonl", "c.csv"):
            text = f"id\n{name}\n" if name.endswith("csv") else json.dumps({"id": name})
            (tmp_path / name).write_text(text)
        assert ids(load(tmp_path / "*.jsonl")) == ["a.jsonl", "b.jsonl"]
        assert ids(load(tmp_path / "[abc].*")) == ["a.jsonl", "b.jsonl", "c.csv"]

    def test_a_file_whose_name_looks_like_a_glob_is_that_file(self, tmp_path: Path) -> None:
        (tmp_path / "a[1].jsonl").write_text('{"id":"x"}')
        assert ids(load(tmp_path / "a[1].jsonl")) == ["x"]

    def test_only_the_name_in_the_spec_is_a_pattern_not_its_folder(self, tmp_path: Path) -> None:
        folder = tmp_path / "run [1]*"
        (folder / "deep" / "er").mkdir(parents=True)
        (folder / "deep" / "er" / "a.jsonl").write_text('{"id":"x"}')
        assert ids(load_samples(spec_of("**/*.jsonl", base=folder))) == ["x"]

    def test_an_id_that_stands_in_two_files_names_both(self, tmp_path: Path) -> None:
        (tmp_path / "a.jsonl").write_text('{"id":"x"}\n{"id":"y"}')
        (tmp_path / "b.jsonl").write_text('\n{"id":"y"}')
        with pytest.raises(DatasetError) as caught:
            load(tmp_path / "*.jsonl")
        assert f"`y` stands in 2 rows: {tmp_path}/a.jsonl:2, {tmp_path}/b.jsonl:2" in str(caught.value)

    def test_a_glob_that_matches_nothing_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(DatasetError, match=r"no file matches `\*\.jsonl`"):
            load(tmp_path / "*.jsonl")

    def test_a_missing_file_suggests_the_nearest_name(self) -> None:
        with pytest.raises(
            DatasetError, match=r"six_row\.jsonl: no such file\n.*did you mean `six_rows\.jsonl`"
        ):
            load(CASES / "six_row.jsonl")

    def test_a_missing_folder_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(DatasetError, match="there is no folder"):
            load(tmp_path / "nowhere" / "x.jsonl")

    def test_a_folder_is_refused_with_a_pattern_to_write(self, tmp_path: Path) -> None:
        with pytest.raises(DatasetError, match=r"is a folder.*\n.*\*\.jsonl"):
            load(tmp_path)

    @pytest.mark.parametrize("name", ["d.txt", "d", "d.gz", "d.xlsx.gz"])
    def test_an_unknown_ending_is_refused_with_the_known_ones(self, name: str) -> None:
        (found,) = faults_of('{"id":1}', name)
        assert found.startswith(f"{name}: unknown kind of file")
        assert ".jsonl, .json, .csv, .tsv, .parquet, .arrow" in found

    def test_endings_are_known_in_any_case(self) -> None:
        assert ids(load_text('{"id":"a"}', "D.JSONL")) == ["a"]

    @pytest.mark.parametrize(
        ("data", "name", "fault"),
        [
            (b"", "d.jsonl", "is empty"),
            (b"", "d.parquet", "is empty"),
            (gzip.compress(b"", mtime=0), "d.csv.gz", "is empty"),
            (b"\n \n", "d.jsonl", "there are no rows"),
            (b"PAR1\x00\x00PAR1", "d.jsonl", "the name ends in .jsonl, but it holds Parquet data"),
            (gzip.compress(b"{}", mtime=0), "d.jsonl", "the name ends in .jsonl, but it holds gzip data"),
            (zstandard.compress(b"{}"), "d.csv", "the name ends in .csv, but it holds Zstandard data"),
            ('{"id":1}'.encode("utf-16"), "d.jsonl", "the name ends in .jsonl, but it holds UTF-16 data"),
            (b"id,q\n1,x\n", "d.parquet", "the name ends in .parquet, but it does not hold Parquet data"),
            (b"version https://git-lfs.github.com/spec/v1\n", "d.csv", "a Git LFS pointer, not data"),
            (b'{"id":1}', "d.jsonl.gz", "cannot be read"),
            (b'{"id":1}', "d.arrow", "cannot be read"),
        ],
    )
    def test_a_file_that_is_not_what_its_name_says_is_refused(
        self, data: bytes, name: str, fault: str
    ) -> None:
        (found,) = faults_of(data, name)
        assert fault in found

    def test_a_truncated_parquet_file_is_refused_by_name(self) -> None:
        with pytest.raises(
            DatasetError, match=r"truncated\.parquet: cannot be read: Parquet magic bytes not found"
        ):
            load(CASES / "truncated.parquet")
