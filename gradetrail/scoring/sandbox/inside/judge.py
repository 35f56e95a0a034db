"""Judges checks in an interpreter of their own, where no code of the candidate has ever run.

Runs inside the sandbox. A check's names are its own, Python's, and last the program's, whose
functions and objects stand behind `Remote`s: calling one runs it in the candidate's process and
brings back plain values.

Invariant: a verdict rests on comparisons made here, between plain values, where the candidate's
process was told a function's arguments but never what the result is compared with. So an object
of a class of the program's own never equals a plain value, and has no operator with one.
"""

from __future__ import annotations

import ast
import builtins
import sys

from gradetrail.scoring.sandbox.inside.candidate import DETAIL_LIMIT, describe
from gradetrail.scoring.sandbox.inside.wire import GoneError, Wire

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` itself takes as long to import as a small program takes to run
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import CodeType
    from typing import Any, NoReturn

FILENAME = "<check>"
CODE_SHOWN = 100
OWN_CLASS = (
    "an object of the program's own class meets a plain value: a check compares plain values alone; "
    "a test that needs more belongs in `program`"
)


class ProgramError(Exception):
    """Where in the program an exception began; the cause of the one that a check sees."""


class Remote:
    """An object of the program's that is not plain; `_plain` is its value if its class extends one."""

    __slots__ = ("_link", "_plain", "_ref")

    def __init__(self, link: Link, ref: int, plain: tuple[Any, ...]) -> None:
        for name, value in (("_link", link), ("_ref", ref), ("_plain", plain)):
            object.__setattr__(self, name, value)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return type(self._plain[0]) if self._plain else Remote

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it in the candidate's process."""
        return self._link.call(self, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        return self._link.apply("getattr", self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._link.apply("setattr", self, name, value)

    def __delattr__(self, name: str) -> None:
        self._link.apply("delattr", self, name)

    def __getitem__(self, key: Any) -> Any:
        return self._link.apply("getitem", self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._link.apply("setitem", self, key, value)

    def __delitem__(self, key: Any) -> None:
        self._link.apply("delitem", self, key)

    def __contains__(self, item: Any) -> bool:
        if self._plain:
            return item in self._plain[0]
        return any(own is item or own == item for own in self)

    def __iter__(self) -> Iterator[Any]:
        return self._link.apply("iter", self)  # type: ignore[no-any-return]

    def __enter__(self) -> Any:
        return self._link.apply("getattr", self, "__enter__")()

    def __exit__(self, *_: object) -> None:
        self._link.apply("getattr", self, "__exit__")(None, None, None)

    def __hash__(self) -> int:
        return hash(self._plain[0]) if self._plain else self._ref

    def __bool__(self) -> bool:
        return self._link.apply("bool", self) is True

    def __instancecheck__(self, instance: Any) -> bool:
        return isinstance(instance, Remote) and self._link.apply("isinstance", instance, self) is True


def _unary(operation: str) -> Callable[..., Any]:
    def method(self: Remote, *args: Any) -> Any:
        return self._link.apply(operation, self, *args)

    return method


def _binary(operation: str, is_reflected: bool) -> Callable[[Remote, Any], Any]:
    compute = getattr(__import__("operator"), operation)

    def method(self: Remote, other: Any) -> Any:
        pair = (other, self) if is_reflected else (self, other)
        values = [item._plain if isinstance(item, Remote) else (item,) for item in pair]
        if all(values):
            return compute(values[0][0], values[1][0])
        if all(isinstance(item, Remote) for item in pair):
            return self._link.apply(operation, *pair)
        if operation in ("eq", "ne"):
            return operation == "ne"
        raise TypeError(OWN_CLASS)

    return method


UNARY = ("len", "next", "str", "repr", "abs", "neg", "pos", "invert", "round", "int", "float", "index")
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
ARITHMETIC = (
    *("add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "pow"),
    *("and_", "or_", "xor", "lshift", "rshift"),
)
for _name in UNARY:
    setattr(Remote, f"__{_name}__", _unary(_name))
for _name in COMPARISONS:
    setattr(Remote, f"__{_name}__", _binary(_name, False))
for _name in ARITHMETIC:
    setattr(Remote, f"__{_name.rstrip('_')}__", _binary(_name, False))
    setattr(Remote, f"__r{_name.rstrip('_')}__", _binary(_name, True))


class Link:
    """The judge's end of the wire to the candidate's process."""

    def __init__(self, reader: int, writer: int) -> None:
        self.wire = Wire(reader, writer, self._lend, self._adopt)
        self.remotes: dict[int, Any] = {}
        self.functions: list[Callable[..., Any]] = []

    def call(self, function: Remote, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Call in the candidate's process; arguments that it changed in place change here too."""
        question = (self.wire.encode(function), self.wire.encode(list(args)), self.wire.encode(dict(kwargs)))
        result, changed = self._ask("call", *question)
        given = [*args, *kwargs.values()]
        for place, new in changed:
            old = given[place]
            if type(old) is list:
                old[:] = new
            elif type(old) in (dict, set):
                old.clear()
                old.update(new)
        return result

    def apply(self, operation: str, *args: Any) -> Any:
        """Apply an operator or built-in function in the candidate's process."""
        return self._ask("apply", operation, self.wire.encode(list(args)))[0]

    def names(self) -> set[str]:
        """List the names that the program has bound."""
        return {name for name in self._ask("names")[0] if type(name) is str}

    def get(self, name: str) -> Any:
        """Look a global of the program up; KeyError if there is none."""
        return self._ask("get", name)[0]

    def _ask(self, *question: Any) -> list[Any]:
        self.wire.send(*question)
        while True:
            kind, *parts = self.wire.receive()
            if kind == "ok":
                return parts
            if kind == "raise":
                self._raise(*parts)
            if kind != "back":
                raise ValueError("a message is malformed")
            self._call_back(*parts)

    def _call_back(self, function: int, args: list[Any], kwargs: dict[str, Any]) -> None:
        try:
            answer = self.wire.encode(self.functions[function](*args, **kwargs))
        except Exception as error:
            self.wire.send("raise", type(error).__name__, str(error))
        else:
            self.wire.send("ok", answer)

    def _raise(self, lineage: list[Any], args: list[Any], text: str) -> NoReturn:
        kind = self._exception_class(lineage)
        try:
            error = kind(*args)
        except Exception:
            error = kind.__new__(kind)
        raise error from ProgramError(text)

    def _exception_class(self, lineage: list[Any]) -> type[BaseException]:
        """Give the class of an exception: the built-in one, or a stand-in for the program's own."""
        *own, (_, base) = lineage
        kind: Any = getattr(builtins, base)
        if not (isinstance(kind, type) and issubclass(kind, BaseException)):
            raise ValueError("a message is malformed")
        for number, name in reversed(own):
            kind = self.remotes.setdefault(number, type(name, (kind,), {"_ref": number}))
        return kind  # type: ignore[no-any-return]

    def _lend(self, value: Any) -> Any:
        is_own_class = isinstance(value, type) and "_ref" in vars(value)
        if type(value) is Remote or is_own_class:
            return {"ref": value._ref}
        if callable(value) and not isinstance(value, type):
            self.functions.append(value)
            return {"function": len(self.functions) - 1}
        raise TypeError(
            f"a check gives the program plain values and functions, not {type(value).__name__}; "
            "a test that needs more belongs in `program`"
        )

    def _adopt(self, tagged: dict[str, Any]) -> Any:
        number = tagged["ref"]
        if type(number) is not int:
            raise ValueError("a message is malformed")
        if "lineage" in tagged:
            return self._exception_class(tagged["lineage"])
        if "plain" in tagged:
            return Remote(self, number, (tagged["plain"],))
        return self.remotes.setdefault(number, Remote(self, number, ()))


class Names(dict):  # type: ignore[type-arg]  # no `Any` exists while this runs
    """What a check sees: its own names; Python's own where they are to be trusted; the program's."""

    def __init__(self, link: Link, trees: Sequence[ast.AST]) -> None:
        super().__init__({"__name__": "check", "__builtins__": builtins})
        self.link = link
        self.trusted = trusted_names(trees, link.names())

    def __missing__(self, name: str) -> Any:
        if name in self.trusted:
            if hasattr(builtins, name):
                raise KeyError(name)
            return __import__(name)
        return self.link.get(name)


def trusted_names(trees: Sequence[ast.AST], program_names: set[str]) -> set[str]:
    """Find the names that mean Python's own thing, whatever the program says that it has bound.

    A name of a library module is Python's where the module has every attribute that the checks take of
    it. A built-in function is, unless it alone can be what is tested: the checks use no name that must
    be the program's, and the program has bound just this one (a task may ask for a function `sum`).
    """
    nodes = [node for tree in trees for node in ast.walk(tree)]
    free = {node.id for node in nodes if isinstance(node, ast.Name)} - _bound_names(nodes)
    taken: dict[str, set[str]] = {}
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            taken.setdefault(node.value.id, set()).add(node.attr)
    known = taken.keys() & sys.stdlib_module_names & free
    modules = {name for name in known if taken[name] <= set(dir(__import__(name)))}
    built_in = free & vars(builtins).keys()
    shadowed = built_in & program_names
    is_tested_alone = free <= built_in | modules and len(shadowed) == 1
    return modules | (built_in - shadowed if is_tested_alone else built_in)


def _bound_names(nodes: Sequence[ast.AST]) -> set[str]:
    """Collect the names that checks bind themselves."""
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.alias):
            names.add((node.asname or node.name).partition(".")[0])
    return names


def judge(checks: Sequence[str], reader: int, writer: int) -> tuple[int, str, str]:
    """Evaluate the checks in order; give how many hold, the verdict and the first that does not.

    GoneError when the candidate's process has left, even where a check took that for a failure of its own.
    """
    trees = [ast.parse(check.strip(), FILENAME) for check in checks]
    link = Link(reader, writer)
    names = Names(link, trees)
    held, verdict, detail = 0, "pass", ""
    for place, (check, tree) in enumerate(zip(checks, trees, strict=True), start=1):
        try:
            wrong = "" if _holds(tree, names) else "not true"
        except BaseException as error:
            cause = error.__cause__
            wrong = (
                f"in the program, {cause}" if isinstance(cause, ProgramError) else describe(error, FILENAME)
            )
            verdict = "memory" if isinstance(error, MemoryError) else verdict
        if link.wire.is_gone:
            raise GoneError
        held += not wrong
        if wrong and not detail:
            shown = " ".join(check.split())
            shown = shown if len(shown) <= CODE_SHOWN else f"{shown[:CODE_SHOWN]}…"
            detail = f"check {place} of {len(checks)}: {shown}: {wrong}"[:DETAIL_LIMIT]
    return held, "fail" if detail and verdict == "pass" else verdict, detail


def _holds(tree: ast.Module, names: Names) -> bool:
    """Run one check; a single expression must be true, unless it calls a test that a check defined."""
    code: CodeType
    if len(tree.body) == 1 and isinstance(tree.body[0], ast.Expr):
        expression = tree.body[0].value
        code = compile(ast.Expression(expression), FILENAME, "eval", dont_inherit=True)
        is_test = isinstance(expression, ast.Call) and isinstance(expression.func, ast.Name)
        is_test = is_test and expression.func.id in names  # type: ignore[attr-defined]
        value = eval(code, names)  # noqa: S307  the dataset's check, inside the sandbox
        return bool(value) or (is_test and value is None)
    code = compile(tree, FILENAME, "exec", dont_inherit=True)
    exec(code, names)  # noqa: S102  the dataset's check, inside the sandbox
    return True


def report_on(job: Mapping[str, Any], checks: Sequence[str]) -> NoReturn:
    """Judge the checks; reads from the candidate on 3, writes to it on 4, reports on 5."""
    import os

    if job["path"]:
        sys.path[:] = job["path"]
    held, verdict, detail = judge(checks, 3, 4)
    os.write(5, f"{held}\n{verdict}\n{detail}".encode("utf-8", "replace"))
    os.close(5)
    # the wire stays open, so that the candidate lives until the warden ends both
    while True:
        os.read(3, 1)
