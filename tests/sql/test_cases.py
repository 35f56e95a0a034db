"""Every folder `<view>/<case>` holds a fact: rows given, and rows that must come out of the view."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml

from gradetrail import sql
from gradetrail.warehouse.catalog import Catalog
from tests.sql.given import live_of, prices_of

HERE = Path(__file__).parent
CASES = sorted(path.parent for path in HERE.glob("*/*/given.yaml") if path.parts[-3] != "checks")
CHECKS = HERE / "checks" / "each_finds_its_fault"


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}/{case.name}")
def test_view_says(case: Path) -> None:
    given = yaml.safe_load((case / "given.yaml").read_text())
    expect = yaml.safe_load((case / "expect.yaml").read_text())
    agree(given, expect.get("query", f"from {case.parent.name}"), expect["rows"], expect.get("params"))


@pytest.mark.parametrize("check", sql.names("checks"))
def test_check_finds_its_fault(check: str) -> None:
    given = yaml.safe_load((CHECKS / "given.yaml").read_text())
    expect = yaml.safe_load((CHECKS / "expect.yaml").read_text())
    agree(given, sql.text_of(f"checks/{check}"), expect["checks"][check])


def agree(given: dict[str, Any], query: str, wanted: list[dict[str, Any]], params: Any = None) -> None:
    """Run the query on the rows given; every wanted row states the columns that it is about."""
    catalog = Catalog(live_of(given), prices_of(given))
    catalog.provide(query)
    cursor = catalog.cursor().execute(query, params)
    names = [column[0] for column in cursor.description]
    found = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    catalog.close()
    shown = [
        {name: plain(row[name]) for name in (wanted[n] if n < len(wanted) else row)}
        for n, row in enumerate(found)
    ]
    assert shown == [{name: near(value) for name, value in row.items()} for row in wanted]


def plain(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal) else value


def near(value: Any) -> Any:
    return pytest.approx(value, rel=1e-9, abs=1e-12) if isinstance(value, float) else value
