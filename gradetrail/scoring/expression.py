"""The expression of a `sql` scorer: what DuckDB's own parser makes of it, and whether that is allowed.

Invariant: one scalar expression over one row. It cannot read files, settings, clocks or chance, wait, or
look at other rows, so that equal answers get equal grades.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from gradetrail import sql
from gradetrail.errors import Fault, QueryError, did_you_mean

NODES = frozenset(
    "CONSTANT COLUMN_REF FUNCTION CASE CAST COMPARISON CONJUNCTION OPERATOR BETWEEN LAMBDA LAMBDA_REF COLLATE"
    " TYPE".split()
)
"""Kinds of nodes that an expression may have; no subquery, window, star, parameter or position."""
REFUSED = {
    "SUBQUERY": "a subquery",
    "WINDOW": "a window function",
    "STAR": "a star",
    "PARAMETER": "a parameter",
    "POSITIONAL_REFERENCE": "a column by its position",
    "DEFAULT": "a default",
}
UNSAFE = frozenset(
    "age getvariable in_search_path now today transaction_timestamp txid_current get_current_time"
    " get_current_timestamp invoke".split()
)
"""Functions that look at the clock or the connection although DuckDB does not call them volatile."""
UNSAFE_BEGINNINGS = ("current_", "__internal", "json_serialize", "json_deserialize", "json_execute", "pg_")
WORDS = frozenset(
    "current_date current_time current_timestamp localtime localtimestamp current_user session_user user"
    " current_role current_catalog current_schema".split()
)
"""Names without brackets that DuckDB takes for functions where there is no such column."""
SAFE_MACROS = (
    "list_", "array_", "map_contains", "split_part", "nullif", "if", "fdiv", "date_add", "days_in_month",
    "json",
)  # fmt: skip
"""How DuckDB's own macros begin that are plain functions of their arguments."""
ALIAS = "value"


@dataclass(slots=True)
class Parsed:
    """What an expression names."""

    columns: dict[str, None] = field(default_factory=dict)
    """Columns, in order of appearance."""
    faults: list[str] = field(default_factory=list)
    fixes: dict[str, str] = field(default_factory=dict)
    """What to write instead, by fault, where more is known than what an expression is."""


def expression_faults(text: str, place: str, where: str, known: frozenset[str] | None = None) -> list[Fault]:
    """Say what is wrong with an expression; `known` are the columns that there are, None if that is open."""
    if not text.strip():
        return [Fault("an empty expression", place, where, "one SQL expression, such as `text = target`")]
    try:
        parsed = parse(text)
    except QueryError as error:
        return [Fault(error.faults[0].message, place, where, "one SQL expression, such as `text = target`")]
    fix = "one scalar expression over the columns of one answer"
    found = [Fault(message, place, where, parsed.fixes.get(message, fix)) for message in parsed.faults]
    if known is not None:
        lower = {name.lower() for name in known}
        found += [
            Fault(f"no column `{name}`", place, where, did_you_mean(name, known))
            for name in parsed.columns
            if name.lower() not in lower
        ]
    return found


@cache
def parse(text: str) -> Parsed:
    """Parse an expression; QueryError if DuckDB cannot."""
    con = sql.connect(threads=1)
    try:
        row = con.execute(
            "select json_serialize_sql($text)", {"text": f"select ({text}\n) as {ALIAS}"}
        ).fetchone()
        assert row is not None
        tree = json.loads(row[0])
        if tree["error"]:
            raise QueryError(Fault(_told(str(tree["error_message"])), "sql"))
        parsed = Parsed()
        node = _only_expression(tree["statements"], parsed)
        if node is not None:
            _walk(node, parsed, frozenset(), _functions())
        return parsed
    finally:
        con.close()


def _told(message: str) -> str:
    return message.replace("SELECT (", "").strip()


def _only_expression(statements: list[Any], parsed: Parsed) -> dict[str, Any] | None:
    node = statements[0]["node"] if len(statements) == 1 else {}
    is_plain = (
        node.get("type") == "SELECT_NODE"
        and node["from_table"]["type"] == "EMPTY"
        and len(node["select_list"]) == 1
        and not any(
            node[part]
            for part in (
                "modifiers",
                "where_clause",
                "group_expressions",
                "group_sets",
                "having",
                "sample",
                "qualify",
            )
        )
        and not node["cte_map"]["map"]
        and node["select_list"][0]["alias"] == ALIAS
    )
    if not is_plain:
        parsed.faults.append("it is more than one expression")
        return None
    expression: dict[str, Any] = node["select_list"][0]
    if expression.get("function_name") == "row":  # how `1, 2` in brackets is read
        parsed.faults.append("it is more than one expression")
        return None
    return expression


def _walk(node: Any, parsed: Parsed, bound: frozenset[str], functions: frozenset[str]) -> None:
    """Look at every node; `bound` are the parameters of the lambdas around it."""
    if isinstance(node, list):
        for item in node:
            _walk(item, parsed, bound, functions)
        return
    if not isinstance(node, dict):
        return
    kind = node.get("class")
    if kind is not None and kind not in NODES:
        parsed.faults.append(f"{REFUSED.get(kind, kind.lower())} is not allowed")
        return
    if kind == "COLUMN_REF":
        _note_column(node["column_names"], parsed, bound)
        return
    if kind == "FUNCTION":
        _note_function(node, parsed, functions)
    if kind == "OPERATOR" and node["type"] == "GROUPING_FUNCTION":
        parsed.faults.append("a grouping function is not allowed")
    if kind == "LAMBDA":
        bound = bound | set(_parameters(node["lhs"]))
        node = {name: value for name, value in node.items() if name != "lhs"}
    for name, value in node.items():
        if name != "alias":
            _walk(value, parsed, bound, functions)


def _parameters(node: Any) -> Iterator[str]:
    """Name the parameters of a lambda: one column reference, or a row of them."""
    if isinstance(node, dict):
        if node.get("class") == "COLUMN_REF":
            yield node["column_names"][0].lower()
        for value in node.values():
            yield from _parameters(value)
    elif isinstance(node, list):
        for item in node:
            yield from _parameters(item)


def _note_column(names: list[str], parsed: Parsed, bound: frozenset[str]) -> None:
    first = names[0]
    if first.lower() in bound:
        return
    if len(names) == 1 and first.lower() in WORDS:
        parsed.faults.append(f"`{first.lower()}` is not allowed")
        return
    parsed.columns[first] = None


def _note_function(node: dict[str, Any], parsed: Parsed, functions: frozenset[str]) -> None:
    name = str(node["function_name"]).lower()
    if node.get("schema") or node.get("catalog"):
        parsed.faults.append(f"`{name}` of another schema is not allowed")
    elif name not in functions:
        message = f"the function `{name}` is not allowed"
        parsed.faults.append(message)
        near = "" if name in {known for known, _, _ in _catalog()} else did_you_mean(name, functions)
        if near.startswith("did you mean"):
            parsed.fixes[message] = near.partition("?")[0] + "?"
    if node.get("filter") or node.get("distinct") or (node.get("order_bys") or {}).get("orders"):
        parsed.faults.append("an aggregate is not allowed")


@cache
def _catalog() -> list[tuple[str, str, bool]]:
    """Give name, kind and volatility of every function that DuckDB has."""
    con = sql.connect(threads=1)
    try:
        return sql.run_file(con, "scoring/functions").fetchall()
    finally:
        con.close()


@cache
def _functions() -> frozenset[str]:
    """Name the functions that depend on their arguments alone."""
    rows = _catalog()
    others = {name for name, kind, is_volatile in rows if kind not in ("scalar", "macro") or is_volatile}
    plain = {name for name, kind, _ in rows if kind == "scalar"}
    plain |= {name for name, kind, _ in rows if kind == "macro" and name.startswith(SAFE_MACROS)}
    return frozenset(name for name in plain - others - UNSAFE if not name.startswith(UNSAFE_BEGINNINGS))
