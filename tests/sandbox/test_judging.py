"""What checks may say about a program that lives in another process, and what no program can make of them."""

import ast
import datetime
import math
import os
from collections import Counter, OrderedDict, deque
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradetrail.scoring.sandbox import Limits, Sandbox
from gradetrail.scoring.sandbox.inside.judge import trusted_names
from gradetrail.scoring.sandbox.inside.wire import Wire

STACK = """
import collections, enum, math

Point = collections.namedtuple("Point", "x y")

class Colour(enum.IntEnum):
    RED = 1

class EmptyError(Exception):
    pass

class DeeplyEmptyError(EmptyError):
    pass

class Stack:
    def __init__(self, *items):
        self.items = list(items)
        self.name = "stack"
    def push(self, item):
        self.items.append(item)
    def pop(self):
        if not self.items:
            raise DeeplyEmptyError("nothing left")
        return self.items.pop()
    def __len__(self):
        return len(self.items)
    def __getitem__(self, place):
        return self.items[place]
    def __setitem__(self, place, item):
        self.items[place] = item
    def __iter__(self):
        return iter(self.items)
    def __eq__(self, other):
        return isinstance(other, Stack) and self.items == other.items
    def __add__(self, other):
        return Stack(*self.items, *other.items)
    def __enter__(self):
        return self
    def __exit__(self, *error):
        self.items.clear()
    def __repr__(self):
        return f"Stack{self.items}"

class Node:
    def __init__(self, value, child=None):
        self.value, self.child = value, child

def depth(node):
    return 0 if node is None else 1 + depth(node.child)

counter = 0
def count():
    global counter
    counter += 1

def sort_in_place(items, reverse=False):
    items.sort(reverse=reverse)

def add_key(mapping, key):
    mapping[key] = len(mapping)

def apply(function, *args):
    return [function(arg) for arg in args]

def squares(n):
    for i in range(n):
        yield i * i

def divide(a, b):
    return a / b

def same(value):
    return value

def keyword(*, a, b=2):
    return (a, b)
"""

UNIT_TEST = """
import unittest

class Test(unittest.TestCase):
    def test(self):
        self.assertEqual(same(1), 1)
        with self.assertRaises(EmptyError):
            Stack().pop()

assert unittest.TestResult.wasSuccessful(Test("test").run())
"""


@pytest.mark.parametrize(
    "check",
    [
        "Stack(1, 2).pop() == 2",
        "s = Stack()\ns.push(3)\nassert len(s) == 1 and s[0] == 3 and list(s) == [3] and s.items == [3]",
        "s = Stack(1)\ns[0] = 5\ns.name = 'other'\nassert (s[0], s.name) == (5, 'other')",
        "Stack(1) == Stack(1) and Stack(1) != Stack(2)",
        "(Stack(1) + Stack(2)).items == [1, 2]",
        "isinstance(Stack(), Stack) and not isinstance(3, Stack)",
        "repr(Stack(1)) == 'Stack[1]'",
        "with Stack(1, 2) as s:\n    assert len(s) == 2\nassert len(s) == 0",
        "try:\n    Stack().pop()\nexcept EmptyError as error:\n    assert str(error) == 'nothing left'",
        "try:\n    Stack().pop()\nexcept DeeplyEmptyError:\n    pass",
        "try:\n    divide(1, 0)\nexcept ZeroDivisionError:\n    pass\nelse:\n    assert False",
        "try:\n    [].__class__, same(1, 2)\nexcept TypeError:\n    pass\nelse:\n    assert False",
        "depth(Node(1, Node(2))) == 2",
        "count()\ncount()\nassert counter == 2",
        "a = [3, 1, 2]\nsort_in_place(a)\nassert a == [1, 2, 3]",
        "a = [3, 1, 2]\nsort_in_place(items=a, reverse=True)\nassert a == [3, 2, 1]",
        "a = {}\nb = a\nadd_key(a, 'k')\nassert b == {'k': 0}",
        "apply(lambda x: x * 10, 1, 2) == [10, 20]",
        "def twice(x):\n    return same(x) * 2\nassert apply(twice, 3) == [6]",
        "list(squares(4)) == [0, 1, 4, 9] and sum(squares(3)) == 5 and next(squares(1)) == 0",
        "sorted(squares(3), reverse=True) == [4, 1, 0]",
        "4 in squares(3) and 5 not in squares(3) and 2 in Stack(1, 2) and 3 not in Stack(1, 2)",
        "keyword(a=1) == (1, 2)",
        "Point(1, 2) == (1, 2) and Point(1, 2).x == 1 and same(Point(3, 4)) == Point(3, 4)",
        "Colour.RED == 1 and Colour.RED.name == 'RED'",
        "math.isclose(divide(1, 3), 0.3333, rel_tol=1e-3)",
        "abs(divide(1, 3) - 1 / 3) < 1e-9 and round(divide(2, 3), 2) == 0.67",
        "import re\nassert re.fullmatch('a+', same('aaa'))",
        UNIT_TEST,
        "same(same)(3) == 3",
        "same(None) is None and same(True) is True and not same(0)",
        "all(divide(n, 1) == n for n in range(5))",
        "[same(x) for x in (1, 2)] == [1, 2]",
        "type(same(1)) is int and isinstance(same('x'), str)",
        "str(same(Stack(1))) == 'Stack[1]' and f'{Stack(2)!r}' == 'Stack[2]'",
        "collections.Counter(same('aab')) == {'a': 2, 'b': 1}",
    ],
)
def test_holds(sandbox: Sandbox, check: str) -> None:
    outcome = sandbox.run(STACK, checks=[check])
    assert outcome.verdict == "pass", outcome.detail


@pytest.mark.parametrize(
    "check",
    [
        "Stack(1) == [1]",
        "missing(1) == 1",
        "same(0)",
        "same(Stack()) == None",
        "assert same(0)",
        "Point(1, 2) == (1, 3)",
        "Colour.RED == 2",
        "exit()",
        "raise SystemExit(0)",
        "import os\nos._exit(0)",
        "divide(1)",
    ],
)
def test_does_not_hold(sandbox: Sandbox, check: str) -> None:
    outcome = sandbox.run(STACK, checks=[check])
    assert outcome.verdict in ("fail", "error")
    assert outcome.passed == 0


def test_an_object_of_an_own_class_beside_a_plain_value_is_explained(sandbox: Sandbox) -> None:
    outcome = sandbox.run(STACK, checks=["Stack(1) + 1 == 2"])
    assert "belongs in `program`" in outcome.detail


def test_checks_share_their_names_in_order(sandbox: Sandbox) -> None:
    checks = ["import math", "half = math.pi / 2", "math.isclose(f(), half)"]
    assert sandbox.run("def f():\n    return 1.5707963267948966", checks=checks).passed == 3


@pytest.mark.parametrize(
    ("program", "checks"),
    [
        ("def sum(a, b):\n    return a * b", ["sum(10, 15) == 150", "sum(2, 3) == 6"]),
        ("def string():\n    return 1\nclass select:\n    size = 3", ["string() == 1", "select.size == 3"]),
        ("string = 'abc'", ["string.upper() == 'ABC'"]),
    ],
)
def test_a_task_may_ask_for_a_name_that_python_has_too(
    sandbox: Sandbox, program: str, checks: list[str]
) -> None:
    outcome = sandbox.run(program, checks=checks)
    assert outcome.verdict == "pass", outcome.detail


def test_names_that_python_owns_are_the_programs_only_where_they_alone_are_tested() -> None:
    def trusted(check: str, *program_names: str) -> set[str]:
        return trusted_names([ast.parse(check)], set(program_names))

    assert trusted("set(f(1)) == {1}", "f", "set") == {"set"}
    assert trusted("sum(1, 2) == 3", "sum") == set()
    assert trusted("abs(sum(1, 2)) == 3", "sum") == {"abs"}
    assert trusted("abs(sum(1, 2)) == 3", "sum", "abs") == {"abs", "sum"}
    assert trusted("math.isclose(f(1), 2)", "f", "math") == {"math"}
    assert trusted("math.isclose(f(1), 2)") == {"math"}
    assert trusted("all([f(1)])", "all") == {"all"}
    assert trusted("string.upper() == 'A'", "string") == set()
    assert trusted("def sum(x):\n    return 1\nsum(f(1))", "f", "sum") == set()


HOSTILE_ANSWERS = [
    '{"ref": 1}',
    '{"ref": 1, "plain": 3}',
    '{"ref": true}',
    '{"ref": [1]}',
    '{"ref": 1, "lineage": [[7, "E"], [null, "ValueError"]]}',
    '{"ref": 1, "lineage": [[null, "eval"]]}',
    '{"function": 0}',
    '{"unknown": 1}',
    "{}",
    '{"int": "0x3"}',
    '{"int": [1]}',
    '{"set": [4]}',
    '{"Decimal": "3.99"}',
    '{"deque": {"ref": 1}}',
    '{"dict": {"ref": 1}}',
    '{"complex": [4, 1]}',
    "NaN",
    "true",
    "[4]",
    '"4"',
    "null",
    "4.0000001",
]
IMPERSONATOR = """
import json, os
def send(text):
    data = text.encode()
    os.write(4, len(data).to_bytes(4, "big") + data)
def receive():
    return json.loads(os.read(3, int.from_bytes(os.read(3, 4), "big")))
os.write(4, b"end\\n\\0")
try:
    while True:
        question = receive()
        if question[0] == "names":
            send('["ok", ["f"]]')
        elif question[0] == "get":
            send('["ok", {"ref": 0}]')
        else:
            send(ANSWER)
finally:
    os._exit(0)
"""


HOSTILE_MESSAGES = [
    *(f'["ok", {answer}, []]' for answer in HOSTILE_ANSWERS),
    *('["ok"]', '["pass"]', "[]", "3", '"ok"', "{}", "not json", "[" * 100_000),
    '["ok", 3, [[0, [4]]]]',
    '["raise", [[null, "AssertionError"]], [], ""]',
    '["raise", [[null, "SystemExit"]], [0], ""]',
    '["raise", [[null, "GeneratorExit"]], [], ""]',
    '["raise", [[null, "eval"]], ["4"], ""]',
    '["raise", []]',
    '["back", 0, [], {}]',
    '["back", 99, [], {"dict": []}]',
]


@pytest.mark.parametrize("answer", HOSTILE_MESSAGES)
def test_a_program_that_speaks_the_wires_language_gains_nothing(sandbox: Sandbox, answer: str) -> None:
    checks = ["f([1]) == 4", "assert f([1]) == 4", "x = f([1])\nassert x == 4 and x <= 4", "f(f) == 4"]
    program = IMPERSONATOR.replace("ANSWER", repr(answer))
    outcome = sandbox.run(program, checks=checks, limits=Limits(wall_s=1))
    assert outcome.passed == 0
    assert outcome.verdict in ("fail", "error", "timeout")


def test_a_program_that_speaks_the_wires_language_may_as_well_answer_right(sandbox: Sandbox) -> None:
    program = IMPERSONATOR.replace("ANSWER", repr('["ok", 4, []]'))
    assert sandbox.run(program, checks=["f([1]) == 4"]).verdict == "pass"


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=-(10**1000), max_value=10**1000)
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
    | st.complex_numbers(allow_nan=False)
    | st.decimals(allow_nan=False)
    | st.fractions()
    | st.dates()
    | st.times().map(lambda time: time.replace(fold=0))
    | st.datetimes().map(lambda time: time.replace(fold=0))
    | st.timedeltas()
    | st.builds(range, st.integers(-9, 9), st.integers(-9, 9), st.integers(1, 9)),
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(st.text() | st.integers(), inner)
        | st.dictionaries(st.text(), inner).map(OrderedDict)
        | st.lists(inner).map(deque)
        | st.frozensets(st.integers() | st.text())
        | st.sets(st.tuples(st.integers(), st.text()))
        | st.dictionaries(st.text(), st.integers()).map(Counter)
        | st.binary().map(bytearray)
    ),
    max_leaves=20,
)


def no_stand_in(value: Any) -> Any:
    raise TypeError(type(value).__name__)


def kinds(value: Any) -> Any:
    """The types of a value and of all inside it, without regard to the order of sets."""
    if isinstance(value, dict):
        return type(value), [(kinds(key), kinds(item)) for key, item in value.items()]
    if isinstance(value, set | frozenset):
        return type(value), sorted(repr(kinds(item)) for item in value)
    return (
        (type(value), [kinds(item) for item in value])
        if isinstance(value, list | tuple | deque)
        else type(value)
    )


@settings(max_examples=100)
@given(PLAIN)
def test_plain_values_cross_the_wire_with_value_and_type(value: Any) -> None:
    reader, writer = os.pipe()
    try:
        wire = Wire(reader, writer, no_stand_in, no_stand_in)
        wire.send("ok", wire.encode(value))
        _, arrived = wire.receive()
    finally:
        os.close(reader)
        os.close(writer)
    assert arrived == value
    assert kinds(arrived) == kinds(value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Decimal("1.10"), "1.10"),
        (Fraction(1, 3), "1/3"),
        (datetime.date(2026, 11, 30), "2026-11-30"),
        (math.inf, "inf"),
        ("\ud800", "\ud800"),
    ],
)
def test_values_keep_their_kind_between_program_and_check(sandbox: Sandbox, value: Any, text: str) -> None:
    program = "def same(value):\n    return value\ndef text(value):\n    return str(value)"
    imports = (
        "import datetime\nfrom decimal import Decimal\nfrom fractions import Fraction\ninf = float('inf')"
    )
    checks = [
        imports,
        f"same({value!r}) == {value!r}",
        f"type(same({value!r})) is type({value!r})",
        f"text({value!r}) == {text!r}",
    ]
    outcome = sandbox.run(program, checks=checks)
    assert outcome.passed == 4, outcome.detail


def test_a_number_of_ten_thousand_digits_crosses(sandbox: Sandbox) -> None:
    checks = ["import math", "f(5000) == math.factorial(5000)"]
    assert sandbox.run("import math\nf = math.factorial", checks=checks).passed == 2


def test_a_list_that_contains_itself_is_no_trap(sandbox: Sandbox) -> None:
    outcome = sandbox.run(
        "def f():\n    x = []\n    x.append(x)\n    return x", checks=["f() == [1]", "len(f()) == 1"]
    )
    assert outcome.passed == 1


def test_a_million_values_cross(sandbox: Sandbox) -> None:
    outcome = sandbox.run("def f(n):\n    return list(range(n))", checks=["f(10**6) == list(range(10**6))"])
    assert outcome.verdict == "pass", outcome


NUMPY = """
import numpy as np
def total(values):
    return np.sum(values)
def mean(values):
    return np.mean(values)
def doubled(values):
    return np.array(values) * 2
def is_positive(value):
    return np.int64(value) > 0
"""


@pytest.mark.parametrize(
    "check",
    [
        "total([1, 2]) == 3 and 3 == total([1, 2]) and total([1, 2]) < 4",
        "total([1, 2]) + 1 == 4 and sum([total([1, 2])]) == 3",
        "mean([1, 2]) == 1.5 and round(mean([1, 2])) == 2 and abs(mean([1, 2]) - 1.5) < 1e-9",
        "{total([1, 2]): 1} == {3: 1} and {total([1, 2])} == {3} and [total([1, 2])] == [3]",
        "list(doubled([1, 2])) == [2, 4] and doubled([1, 2]).tolist() == [2, 4]",
        "import numpy as np\nassert (doubled([[1, 2]]) == np.array([[2, 4]])).all()",
        "import numpy as np\nassert np.allclose(doubled([0.1]), [0.2])\nassert doubled([1.0]).dtype == float",
        "is_positive(1) and not is_positive(-1) and is_positive(1) == True",
    ],
)
def test_numbers_of_numpy_are_plain_values(sandbox: Sandbox, check: str) -> None:
    outcome = sandbox.run(NUMPY, checks=[check])
    assert outcome.verdict == "pass", outcome.detail
