"""Answers the judge's questions about what the program has defined, in the candidate's own process.

Runs inside the sandbox. Invariant: values go out, verdicts never do; the program may change
anything here and gains by it only the answers that it could have given anyway.
"""

from __future__ import annotations

import operator
import os
import sys

from gradetrail.scoring.sandbox.inside.candidate import describe
from gradetrail.scoring.sandbox.inside.wire import GoneError, Wire

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` itself takes as long to import as a small program takes to run
    from collections.abc import Callable, Mapping, Sequence
    from types import ModuleType
    from typing import Any, NoReturn

PLAIN: tuple[type[Any], ...] = (int, float, str, bytes, tuple, list, frozenset, set, dict)
"""What a class may extend so that its objects still have a plain value."""


class Server:
    """Answers the judge's questions about the program's names, functions and objects."""

    def __init__(self, module: ModuleType, reader: int, writer: int) -> None:
        self.names = module.__dict__
        self.wire = Wire(reader, writer, self._lend, self._adopt)
        self.objects: dict[int, Any] = {}
        self.numbers: dict[int, int] = {}
        self.operator = operator
        self.builtins = vars(sys.modules["builtins"]).copy()
        self.answers: dict[str, Callable[..., Any]] = {
            "get": self._get,
            "call": self._call,
            "apply": self._apply,
            "names": lambda: list(self.names),
        }

    def serve(self) -> NoReturn:
        """Answer until the judge is gone."""
        while True:
            try:
                message = self.wire.receive()
            except GoneError:
                os._exit(0)
            self._answer(message)

    def _answer(self, message: Sequence[Any]) -> None:
        question, *parts = message
        try:
            answer = self.answers[question](*parts)
            self.wire.send("ok", *answer) if isinstance(answer, tuple) else self.wire.send("ok", answer)
        except BaseException as error:
            self.wire.send("raise", *self._taken_apart(error))

    def _get(self, name: str) -> Any:
        if name not in self.names:
            raise KeyError(name)
        return self.wire.encode(self.names[name])

    def _call(self, function: Any, args: list[Any], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """Call; send the arguments back too, since the function may have changed them in place."""
        given = [*args, *kwargs.values()]
        before = [self.wire.encode(value) for value in given]
        result = function(*args, **kwargs)
        after = [self.wire.encode(value) for value in given]
        changed = [[place, new] for place, new in enumerate(after) if new != before[place]]
        return self.wire.encode(result), changed

    def _apply(self, operation: str, args: list[Any]) -> Any:
        function = self.builtins.get(operation) or getattr(self.operator, operation)
        return self.wire.encode(function(*args))

    def _lend(self, value: Any) -> Any:
        """Keep an object here and give its number, with its plain value if its class extends one."""
        number = self.numbers.get(id(value))
        if number is None:
            number = len(self.objects)
            self.objects[number], self.numbers[id(value)] = value, number
        if isinstance(value, type) and issubclass(value, BaseException):
            return {"ref": number, "lineage": self._lineage(value)}
        if type(value) in PLAIN:
            # a structure that contains itself: it has no end as a plain value
            return {"ref": number}
        for plain in PLAIN:
            if isinstance(value, plain):
                return {"ref": number, "plain": self.wire.encode(plain(value))}
        number_value = _plain_number(value)
        return {"ref": number} if number_value is None else {"ref": number, "plain": number_value}

    def _lineage(self, kind: type[BaseException]) -> list[Any]:
        """List an exception's classes from itself to the nearest built-in one, whose number is null."""
        lineage: list[Any] = []
        for base in kind.__mro__:
            if self.builtins.get(base.__name__) is base:
                return [*lineage, [None, base.__name__]]
            number = self.numbers.setdefault(id(base), len(self.objects))
            self.objects.setdefault(number, base)
            lineage.append([number, base.__name__])
        return lineage

    def _taken_apart(self, error: BaseException) -> tuple[Any, ...]:
        args = [
            self.wire.encode(arg) if type(arg) in (str, bytes, int, float) else None for arg in error.args
        ]
        return self._lineage(type(error)), args, describe(error)

    def _adopt(self, tagged: dict[str, Any]) -> Any:
        if "ref" in tagged:
            return self.objects[tagged["ref"]]
        return Callback(self, tagged["function"])

    def ask(self, function: int, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Have the judge call one of its own functions, and answer what that asks meanwhile."""
        self.wire.send("back", function, self.wire.encode(list(args)), self.wire.encode(dict(kwargs)))
        while True:
            message = self.wire.receive()
            if message[0] == "ok":
                return message[1]
            if message[0] == "raise":
                raise self.builtins.get(message[1], RuntimeError)(message[2])
            self._answer(message)


def _plain_number(value: Any) -> bool | int | float | None:
    """Give the value of a number whose class extends no built-in one, such as NumPy's; None if it is none."""
    numpy: Any = sys.modules.get("numpy")
    numbers: Any = sys.modules.get("numbers")
    if numpy and isinstance(value, numpy.bool_):
        return bool(value)
    if numbers and isinstance(value, numbers.Real):
        return int(value) if isinstance(value, numbers.Integral) else float(value)
    return None


class Callback:
    """A function of the judge's, as the program sees it."""

    def __init__(self, server: Server, number: int) -> None:
        self._server, self._number = server, number

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Have the judge call it."""
        return self._server.ask(self._number, args, kwargs)
