"""Ids and hashes follow from content: not from order, spelling or place."""

from __future__ import annotations

import hashlib
import json
import pickle
import random
import sys
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gradetrail.dataset import JsonFloat, Selection, json_text, parse_row
from gradetrail.dataset.ids import hash_ids
from gradetrail.errors import DatasetError
from gradetrail.request import canonical_json, content_id
from tests.dataset.loading import contents, ids, load_rows, load_text, rows

TEXT = st.text(st.characters(exclude_categories=("Cs",)))
SCALAR = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(10**40), 10**40)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT
)
JSON = st.recursive(
    SCALAR,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)
ROW = st.dictionaries(TEXT.filter(lambda key: key != "id"), JSON, max_size=5)


def shuffled(value: Any, seed: int) -> Any:
    """Reorder the keys at every depth."""
    if isinstance(value, dict):
        items = list(value.items())
        random.Random(seed).shuffle(items)
        return {key: shuffled(item, seed) for key, item in items}
    return [shuffled(item, seed) for item in value] if isinstance(value, list) else value


def hashes(samples: Any) -> list[str]:
    return samples.selected["sample_hash"].to_pylist()


class TestRoundTrip:
    @given(st.lists(ROW, min_size=1, max_size=4))
    def test_json_lines_come_back_as_they_went_in(self, values: list[dict[str, Any]]) -> None:
        lines = [json.dumps(value, ensure_ascii=index % 2 == 0) for index, value in enumerate(values)]
        samples = load_text("\n".join(lines))
        assert contents(samples) == lines
        assert [list(row) for row in rows(samples)] == [list(value) for value in values]
        assert rows(samples) == values

    def test_integers_beyond_64_bits_come_back_as_they_went_in(self) -> None:
        line = '{"n": -9223372036854775809, "m":  100000000000000000000}'
        samples = load_text(line)
        assert contents(samples) == [line]
        assert rows(samples) == [{"n": -9223372036854775809, "m": 10**20}]

    @given(ROW)
    def test_a_mapping_given_in_python_is_the_row_of_the_same_file(self, value: dict[str, Any]) -> None:
        assert json.loads(json_text(value)) == value

    def test_floats_keep_their_text_and_are_floats(self) -> None:
        row = parse_row('{"a":1.50,"b":[1E5,-0.0],"n":7}')
        assert [str(row["a"]), str(row["b"][0]), str(row["b"][1])] == ["1.50", "1E5", "-0.0"]
        assert f"{row['a']}, {row['a']:.3f}" == "1.50, 1.500"
        assert row["a"] == 1.5
        assert row["a"] * 2 == 3.0
        assert isinstance(row["a"], float)
        assert type(row["n"]) is int
        assert json_text(row) == '{"a":1.50,"b":[1E5,-0.0],"n":7}'

    def test_a_float_keeps_its_text_on_the_way_to_another_process(self) -> None:
        copy = pickle.loads(pickle.dumps(JsonFloat("1.50")))
        assert (copy, str(copy)) == (1.5, "1.50")

    def test_the_same_number_written_in_two_ways_is_equal_and_canonically_one(self) -> None:
        assert JsonFloat("1.50") == JsonFloat("1.5")
        assert canonical_json([JsonFloat("1.50")]) == canonical_json([1.5])


class TestSampleHash:
    @given(ROW)
    @example({"\ufb00": 1, "\U0001f600": 2})
    @example({"a": 1e21, "b": [1e-7, -0.0, 5e-324, 1e16, 123456789012345680000.0]})
    @example({"a": '\u007f\u2028\x00\x1f\b\f\n\r\t"\\/'})
    @example({"n": [2**53 - 1, 2**53, 2**63, 2**64 - 1, 2**64, -(2**63), -(2**63) - 1]})
    @example({"x": {"\ud7ff": 1, "\ue000": [{"b": 1.5, "a": None}]}})
    def test_it_is_the_hash_of_the_canonical_row(self, value: dict[str, Any]) -> None:
        assert hashes(load_rows([value])) == [content_id("gradetrail.sample.v1", value)]

    def test_it_is_pinned(self) -> None:
        canonical = b'{"a":[1.5,true],"b":"x"}'
        expected = hashlib.sha256(b"gradetrail.sample.v1\n" + canonical).hexdigest()
        assert hashes(load_text('{"b": "x", "a": [1.50, true]}')) == [expected]

    @given(ROW, st.integers(0, 99))
    def test_the_order_of_keys_at_any_depth_changes_nothing(self, value: dict[str, Any], seed: int) -> None:
        assert hashes(load_rows([value])) == hashes(load_rows([shuffled(value, seed)]))

    def test_white_space_and_escapes_change_nothing(self) -> None:
        first, second = load_text('{"q":"é","n":1.5}'), load_text('{ "n" : 1.50, "q" : "\\u00e9" }')
        assert hashes(first) == hashes(second)
        assert first.dataset_id == second.dataset_id

    def test_a_value_a_key_or_its_type_changes_it(self) -> None:
        found = [
            hashes(load_rows([{"id": "a", **value}]))[0]
            for value in ({"x": 1}, {"x": "1"}, {"x": True}, {"x": None}, {}, {"y": 1}, {"x": [1]}, {"x": 2})
        ]
        assert len(set(found)) == len(found)


class TestDatasetId:
    @given(st.lists(ROW, min_size=1, max_size=6), st.randoms(use_true_random=False))
    def test_the_order_of_rows_changes_nothing(
        self, values: list[dict[str, Any]], chance: random.Random
    ) -> None:
        order = list(values)
        chance.shuffle(order)
        before, after = load_rows(values), load_rows(order)
        assert before.dataset_id == after.dataset_id
        assert sorted(ids(before)) == sorted(ids(after))

    @given(
        st.lists(TEXT.filter(lambda t: t.strip() and t.isprintable()), min_size=1, max_size=20, unique=True)
    )
    def test_it_covers_ids_and_hashes_sorted_by_id(self, names: list[str]) -> None:
        samples = load_rows([{"id": name, "n": index} for index, name in enumerate(names)])
        pairs = sorted(
            [name, content_id("gradetrail.sample.v1", {"id": name, "n": i})] for i, name in enumerate(names)
        )
        assert samples.dataset_id == content_id("gradetrail.dataset.v1", pairs)

    def test_it_is_the_same_for_more_rows_than_a_batch(self) -> None:
        values = [{"id": f"s{n}", "n": n} for n in range(20_000)]
        pairs = sorted([value["id"], content_id("gradetrail.sample.v1", value)] for value in values)
        assert load_rows(values).dataset_id == content_id("gradetrail.dataset.v1", pairs)

    def test_selection_does_not_change_it_but_rows_do(self) -> None:
        values = [{"id": n, "q": f"q{n}"} for n in range(5)]
        whole = load_rows(values)
        assert load_rows(values, Selection(limit=2, where="id > 1")).dataset_id == whole.dataset_id
        assert load_rows(values, limit=2).dataset_id == whole.dataset_id
        assert load_rows(values[:4]).dataset_id != whole.dataset_id
        assert load_rows([*values[:4], {"id": 4, "q": "other"}]).dataset_id != whole.dataset_id

    def test_everything_holds_all_rows_under_it(self) -> None:
        samples = load_rows([{"id": n} for n in range(3)], Selection(limit=1))
        assert samples.everything.to_pylist() == [
            {
                "dataset_id": samples.dataset_id,
                "sample_id": str(n),
                "sample_hash": content_id("gradetrail.sample.v1", {"id": n}),
                "position": n,
                "content": json.dumps({"id": n}),
            }
            for n in range(3)
        ]
        assert samples.selected.num_rows == 1


class TestIds:
    def test_without_an_id_it_is_the_start_of_the_hash_numbered_for_exact_repetitions(self) -> None:
        samples = load_text('{"q":"x"}\n{"q":"y"}\n{ "q":"x"}\n{"q":"x"}\n')
        x, y = hashes(samples)[:2]
        assert ids(samples) == [x[:12], y[:12], f"{x[:12]}-2", f"{x[:12]}-3"]

    @given(st.lists(ROW, min_size=1, max_size=6), st.randoms(use_true_random=False))
    def test_shuffling_the_file_gives_every_row_its_old_id(
        self, values: list[dict[str, Any]], chance: random.Random
    ) -> None:
        order = list(values)
        chance.shuffle(order)

        def pairs(samples: Any) -> set[tuple[str, str]]:
            return set(zip(ids(samples), hashes(samples), strict=True))

        assert pairs(load_rows(values)) == pairs(load_rows(order))

    def test_different_rows_that_share_twelve_digits_get_longer_ids(self) -> None:
        a, b, c = "0123456789ab" + "a" * 52, "0123456789ab" + "b" * 52, "c" * 64
        found = hash_ids(pa.chunked_array([[a, c], [b, c, a]]))
        assert found.to_pylist() == [a[:32], c[:12], b[:32], f"{c[:12]}-2", f"{a[:32]}-2"]

    def test_the_column_id_is_the_id_unless_the_spec_names_another(self) -> None:
        values = [{"id": "a", "key": "k1"}, {"id": "b", "key": "k2"}]
        assert ids(load_rows(values)) == ["a", "b"]
        assert ids(load_rows(values, id="key")) == ["k1", "k2"]

    def test_numbers_are_ids_as_they_are_written(self) -> None:
        lines = '{"id": 1}\n{"id": 1.0}\n{"id": "01"}\n{"id": 12345678901234567890123}\n{"id": 1e2}\n'
        assert ids(load_text(lines)) == ["1", "1.0", "01", "12345678901234567890123", "1e2"]

    def test_a_number_and_its_text_are_one_id(self) -> None:
        with pytest.raises(DatasetError, match=r"the id `1` stands in 2 rows: .*d\.jsonl:1, .*d\.jsonl:3"):
            load_text('{"id": 1}\n\n{"id": "1"}\n')

    def test_every_repeated_id_is_named_with_its_first_places(self) -> None:
        with pytest.raises(DatasetError) as caught:
            load_rows([{"id": n % 3, "q": n} for n in range(20)] + [{"id": "single"}])
        assert len(caught.value.faults) == 3
        assert "the id `0` stands in 7 rows" in caught.value.faults[0].message
        assert caught.value.faults[0].message.endswith("and 2 more")

    @pytest.mark.parametrize(
        ("value", "reason"),
        [
            (None, "null is not an id"),
            (True, "true is not an id"),
            (False, "false is not an id"),
            ([1], "a list is not an id"),
            ({"a": 1}, "an object is not an id"),
            ("", "a blank id"),
            (" \u2003", "a blank id"),
            ("a\nb", "control characters in the id 'a\\nb'"),
            ("a\x7f", "control characters in the id 'a\\x7f'"),
            ("x" * 501, "an id of 501 characters, at most 500"),
        ],
    )
    def test_what_cannot_be_an_id_is_refused_with_line_and_field(self, value: Any, reason: str) -> None:
        with pytest.raises(DatasetError) as caught:
            load_rows([{"key": "ok"}, {"key": value}], id="key")
        (fault, *_) = caught.value.faults
        assert fault.where.endswith("d.jsonl:2")
        assert fault.field == "key"
        assert fault.message == reason

    @pytest.mark.parametrize("value", ["a/b", "../x", "x" * 500, "é 漢", "'; drop", " spaced "])
    def test_any_other_text_is_an_id(self, value: str) -> None:
        assert ids(load_rows([{"id": value}])) == [value]

    def test_rows_that_lack_the_id_that_others_have_are_named(self) -> None:
        with pytest.raises(DatasetError, match=r"rows without `id`, which other rows have: .*:2, .*:3"):
            load_rows([{"id": 1}, {"q": 1}, {"q": 2}])

    def test_repeated_ids_are_placed_rightly_beside_rows_without_one(self) -> None:
        with pytest.raises(DatasetError, match=r"the id `x` stands in 2 rows: .*jsonl:2, .*jsonl:4"):
            load_rows([{"q": 1}, {"id": "x"}, {"q": 2}, {"id": "x"}])

    def test_an_id_field_that_no_row_has_suggests_the_nearest(self) -> None:
        with pytest.raises(
            DatasetError, match=r"no row has a field `qid`\n.*did you mean `q_id`\? known: q, q_id"
        ):
            load_rows([{"q_id": 1, "q": 2}], id="qid")

    def test_a_long_integer_is_hashed_within_the_limit_of_python(self) -> None:
        digits = "9" * sys.get_int_max_str_digits()
        assert ids(load_text(f'{{"id": "a", "n": {digits}}}')) == ["a"]


class TestCategoryAndCluster:
    def test_they_are_the_text_of_the_named_fields(self) -> None:
        lines = '{"id":1,"c":"x","k":1.50}\n{"id":2,"c":true,"k":7}\n{"id":3,"c":null,"k":[1, 2.0]}\n'
        selected = load_text(lines, category="c", cluster="k").selected
        assert selected["category"].to_pylist() == ["x", "true", None]
        assert selected["cluster"].to_pylist() == ["1.50", "7", "[1,2.0]"]

    def test_they_are_null_where_the_spec_names_none(self) -> None:
        selected = load_rows([{"id": 1}]).selected
        assert selected.schema.field("category").type == pa.string()
        assert selected.select(["category", "cluster"]).to_pylist() == [{"category": None, "cluster": None}]

    def test_a_field_that_no_row_has_suggests_the_nearest(self) -> None:
        with pytest.raises(DatasetError) as caught:
            load_rows([{"id": 1, "subject": "x"}], category="subjects")
        (fault,) = caught.value.faults
        assert fault.field == "dataset.category"
        assert fault.fix == "did you mean `subject`? known: id, subject"

    def test_a_selected_row_that_lacks_the_field_is_named(self) -> None:
        values = [{"id": 1, "c": "x"}, {"id": 2}]
        with pytest.raises(DatasetError, match=r"rows without the field `c`: .*d\.jsonl:2"):
            load_rows(values, category="c")
        assert load_rows(values, category="c", where="c is not null").selected["category"].to_pylist() == [
            "x"
        ]
