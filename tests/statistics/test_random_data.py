"""Every statistic equals an independent reference on random data sets.

They are empty, of one, all equal, tied, with missing values and unbalanced clusters, or none of that.

`python -m tests.statistics` prints the largest differences; with `-s` a test run does so too.
"""

from functools import cache

import pytest

from tests.statistics import page
from tests.statistics.areas import AREAS, TOLERANCES, USUAL, line
from tests.statistics.world import Found, Largest


@cache
def measured(area: str) -> Found:
    return AREAS[area]()


@pytest.mark.parametrize("area", AREAS)
def test_each_statistic_equals_its_reference(area, record_property):
    found = measured(area)
    for name, largest in found.items():
        record_property(name, largest.gap)
        print(line(name, found))
    far = {name: largest.gap for name, largest in found.items() if largest.gap > TOLERANCES.get(name, USUAL)}
    assert far == {}


@pytest.mark.parametrize("area", AREAS)
def test_each_statistic_meets_a_thousand_data_sets(area):
    assert {name: largest.n for name, largest in measured(area).items() if largest.n < 1000} == {}


def test_the_page_tells_what_was_measured():
    told = [
        [cell.strip() for cell in row.strip("|").split("|")]
        for row in page.PAGE.read_text(encoding="utf-8").partition(page.BEGIN)[2].splitlines()[3:-1]
    ]
    shown = page.rows({area: measured(area) for area in AREAS})
    assert [row[:4] for row in told] == [list(row[:4]) for row in shown]
    far = {
        name: gap for name, _, _, _, gap in told if float(gap) > max(10 * TOLERANCES.get(name, USUAL), USUAL)
    }
    assert far == {}


def test_every_reference_is_that_of_a_statistic():
    compared = [name for names in page.REFERENCES.values() for name in names]
    assert sorted(compared) == sorted(set(compared))
    assert set(compared) <= {name for area in AREAS for name in measured(area)}


def test_a_number_where_there_should_be_none_is_infinitely_far():
    for found, wanted in ((0.0, None), (None, 0.0), (0.0, float("nan"))):
        largest = Largest()
        largest.add(found, wanted)
        assert largest.gap == float("inf")
