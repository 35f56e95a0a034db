"""Every statistic equals an independent reference on random data sets.

They are empty, of one, all equal, tied, with missing values and unbalanced clusters, or none of that.

`python -m tests.statistics` prints the largest differences; with `-s` a test run does so too.
"""

from functools import cache

import pytest

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


def test_a_number_where_there_should_be_none_is_infinitely_far():
    for found, wanted in ((0.0, None), (None, 0.0), (0.0, float("nan"))):
        largest = Largest()
        largest.add(found, wanted)
        assert largest.gap == float("inf")
