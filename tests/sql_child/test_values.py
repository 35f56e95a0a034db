"""Rows survive the way from one process to another, whatever their types."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradetrail import sql
from gradetrail.sql_child.values import NestedError, decode, encode

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(1 << 128), 1 << 128),
    st.floats(allow_nan=False),
    st.text(st.characters(exclude_categories=["Cs"])),
    st.binary(),
    st.decimals(allow_nan=False),
    st.dates(),
    st.datetimes(),
    st.datetimes(timezones=st.just(UTC)),
    st.times(),
    st.timedeltas(),
    st.uuids(),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=3),
    ),
    max_leaves=8,
)
TYPES = """
    select
        1::utinyint,
        170141183460469231731687303715884105727::hugeint,
        (-9223372036854775807 - 1)::bigint,
        18446744073709551615::ubigint,
        1.5::decimal(9, 3),
        'inf'::double,
        -0.0::double,
        0.1::float,
        '\\x00\\xFF'::blob,
        date '2020-02-29',
        timestamp '2020-01-01 01:02:03.4',
        timestamptz '2020-01-01 01:02:03+00',
        timetz '01:02:03+02',
        interval 3 month,
        '01234567-89ab-cdef-0123-456789abcdef'::uuid,
        [1, null],
        {'a': 1.5::decimal(3, 1)},
        map {'k': date '2020-01-01'},
        [1, 2]::int[2],
        '101'::bit,
        'a'::enum('a', 'b'),
        '{"a": 1}'::json,
        null
"""


@given(st.integers(1, 3).flatmap(lambda n: st.lists(st.tuples(*[VALUES] * n), min_size=1, max_size=5)))
def test_every_value_comes_back_equal_and_of_its_type(rows: list[tuple[object, ...]]) -> None:
    found = decode(encode(rows))
    assert found == rows
    assert [[type(value) for value in row] for row in found] == [
        [type(value) for value in row] for row in rows
    ]


def test_every_type_of_duckdb_comes_back_equal() -> None:
    rows = sql.connect().execute(TYPES).fetchall()
    assert decode(encode(rows)) == rows


def test_what_is_no_number_stays_none() -> None:
    (found,) = decode(encode([(math.nan,)]))
    assert math.isnan(found[0])


def test_a_moment_of_another_zone_is_the_same_moment() -> None:
    moment = datetime(2026, 11, 30, 8, tzinfo=timezone(timedelta(hours=2)))
    assert decode(encode([(moment, time(1), date(1, 1, 1), Decimal("1E+3"), UUID(int=1))]))[0][0] == moment


def test_a_value_of_too_many_levels_is_refused() -> None:
    value: list[object] = []
    for _ in range(5000):
        value = [value]
    with pytest.raises(NestedError):
        encode([(value,)])
