"""A selection is drawn from ids and a seed, keeps dataset order, and is never silently empty."""

from __future__ import annotations

import hashlib
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradetrail.dataset import Selection
from gradetrail.errors import DatasetError, SelectionError
from tests.dataset.loading import DATA, ids, load, load_rows

SIX = DATA / "cases" / "six_rows.jsonl"
HUNDRED = [{"id": f"s{n}", "n": n} for n in range(100)]


def smallest(names: list[str], n: int, seed: int) -> list[str]:
    """Give the n ids with the smallest sha256 of `seed:id`, in their own order."""
    drawn = sorted(names, key=lambda name: hashlib.sha256(f"{seed}:{name}".encode()).hexdigest())[:n]
    return [name for name in names if name in drawn]


def test_a_limit_without_a_seed_takes_the_first_rows() -> None:
    assert ids(load(SIX, limit=2)) == ["s1", "s2"]
    assert ids(load(SIX, Selection(limit=2))) == ["s1", "s2"]


def test_a_limit_with_a_seed_draws_by_hash_and_keeps_dataset_order() -> None:
    names = [row["id"] for row in HUNDRED]
    for seed in range(5):
        assert ids(load_rows(HUNDRED, limit=10, shuffle_seed=seed)) == smallest(names, 10, seed)
        assert ids(load_rows(HUNDRED, Selection(limit=10), shuffle_seed=seed)) == smallest(names, 10, seed)
        assert ids(load_rows(HUNDRED, Selection(sample=10, seed=seed))) == smallest(names, 10, seed)


def test_a_sample_without_a_seed_has_seed_0() -> None:
    assert ids(load_rows(HUNDRED, Selection(sample=7))) == ids(
        load_rows(HUNDRED, Selection(sample=7, seed=0))
    )


def test_a_seed_without_a_limit_changes_nothing() -> None:
    assert ids(load(SIX, shuffle_seed=3)) == ids(load(SIX))


def test_a_seed_without_a_sample_is_said_to_do_nothing() -> None:
    assert load(SIX, Selection(seed=3)).warnings == ("--seed has no effect without --sample",)


@given(st.permutations(HUNDRED[:30]), st.integers(1, 30), st.integers(0, 9))
def test_the_order_of_rows_changes_no_draw(order: list[dict[str, object]], n: int, seed: int) -> None:
    selection = Selection(sample=n, seed=seed)
    drawn = ids(load_rows(order, selection))
    assert set(drawn) == set(ids(load_rows(HUNDRED[:30], selection)))
    assert drawn == [row["id"] for row in order if row["id"] in set(drawn)]


@given(st.integers(1, 99), st.integers(0, 9))
def test_a_smaller_draw_is_part_of_a_larger_one(n: int, seed: int) -> None:
    larger = ids(load_rows(HUNDRED, Selection(sample=n + 1, seed=seed)))
    assert set(ids(load_rows(HUNDRED, Selection(sample=n, seed=seed)))) < set(larger)


def test_adding_rows_only_replaces_drawn_ones() -> None:
    before = set(ids(load_rows(HUNDRED[:50], Selection(sample=20))))
    after = set(ids(load_rows(HUNDRED, Selection(sample=20))))
    assert after & {f"s{n}" for n in range(50)} <= before


def test_more_than_there_are_is_all() -> None:
    assert len(ids(load(SIX, Selection(sample=99, limit=50), limit=70, shuffle_seed=1))) == 6


def test_the_steps_follow_each_other() -> None:
    names = [f"s{n}" for n in range(100)]
    even = smallest(names[::2], 20, 5)
    low = [name for name in even if int(name[1:]) < 60]
    cases = tuple(reversed(low[:6]))
    drawn = smallest(low[:6], 4, 9)
    samples = load_rows(
        HUNDRED,
        Selection(where="n < 60", cases=cases, sample=4, seed=9, limit=2),
        where="n % 2 = 0",
        limit=20,
        shuffle_seed=5,
    )
    assert ids(samples) == smallest(drawn, 2, 5)
    assert samples.selected["position"].to_pylist() == [int(name[1:]) for name in ids(samples)]


def test_cases_keep_dataset_order_and_count_once() -> None:
    assert ids(load(SIX, Selection(cases=("s5", "s2", "s5")))) == ["s2", "s5"]


def test_unknown_cases_are_all_named_with_near_ids() -> None:
    with pytest.raises(SelectionError) as caught:
        load_rows(HUNDRED, Selection(cases=("s1", "s1000", "S3")))
    assert [fault.message for fault in caught.value.faults] == ["no sample `s1000`", "no sample `S3`"]
    assert [fault.where for fault in caught.value.faults] == ["--cases", "--cases"]
    assert caught.value.faults[0].fix.startswith("did you mean `s10`?")


def test_a_case_that_the_spec_leaves_out_says_so() -> None:
    with pytest.raises(SelectionError, match=r"`s5` is in the dataset, but `where` or `limit` leaves it out"):
        load(SIX, Selection(cases=("s1", "s5")), limit=2)


@pytest.mark.parametrize(
    ("selection", "place"),
    [
        (Selection(where="target = '99'"), "--where"),
        (Selection(where="null"), "--where"),
        (Selection(limit=0), "--limit"),
        (Selection(sample=0), "--sample"),
        (Selection(sample=-1), "--sample"),
    ],
)
def test_an_empty_selection_is_refused(selection: Selection, place: str) -> None:
    with pytest.raises(SelectionError) as caught:
        load(SIX, selection)
    assert caught.value.faults[0].where == place


def test_a_condition_of_the_spec_that_keeps_nothing_is_refused() -> None:
    with pytest.raises(SelectionError, match=r"dataset\.where: keeps no sample"):
        load(SIX, where="false")


def test_a_large_dataset_is_selected_across_batches() -> None:
    values = [{"id": n, "q": "x" * 50} for n in range(20_000)]
    random.Random(1).shuffle(values)
    samples = load_rows(values, Selection(sample=5_000, seed=2))
    assert samples.selected.num_rows == 5_000
    assert ids(samples) == smallest_in_order(values, 5_000, 2)


def smallest_in_order(values: list[dict[str, object]], n: int, seed: int) -> list[str]:
    names = [str(value["id"]) for value in values]
    keep = set(sorted(names, key=lambda name: hashlib.sha256(f"{seed}:{name}".encode()).digest())[:n])
    return [name for name in names if name in keep]


def test_a_fault_anywhere_in_the_file_counts_even_where_it_is_not_selected() -> None:
    with pytest.raises(DatasetError, match=r"bad_line\.jsonl:2"):
        load(DATA / "cases" / "bad_line.jsonl", Selection(cases=("a",)))
