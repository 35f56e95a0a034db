"""Every exception that gradetrail raises on purpose, and the exit code that each one means.

    GradetrailError             exit 2  something is wrong before any call was made
    ├── SpecError                       the spec, or a file that it names, is at fault
    ├── DatasetError                    the dataset cannot be read as it stands
    ├── StoreError                      the warehouse cannot be opened, read or written
    │   ├── RunLockedError              another process is generating into this run
    │   └── BrokenOffError  exit 3  the warehouse failed while calls were made; answers are kept
    ├── ResumeError                     a run cannot be continued as asked; every difference is named
    ├── SelectionError                  a name, id or filter that matches nothing
    ├── QueryError                      SQL that DuckDB refused: file and line, or the query's text
    │   └── LimitError          exit 3  a query met a limit; which one, its value, what raises it
    ├── DependencyError                 an extra is not installed; names the extra
    ├── VerdictError            exit 1  the answer to the question asked is no
    ├── UnusableError           exit 3  a result exists but must not be used (incomplete, aborted)
    ├── UndecidedError          exit 4  there is no evidence either way, and --strict asked for some
    └── InterruptError          exit 130  Ctrl-C; says how to go on
    ProviderError                       one call failed; becomes a row, never an exit code

A failure of a call is a row; a broken spec, file, key or machine is an exception.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with what the user gave."""

    message: str
    """What is wrong, with the offending value."""
    where: str = ""
    """`file:line`, `file row 12` or a command-line flag; empty if there is no place."""
    field: str = ""
    """Dotted path inside that place, such as `scorers.strict.tolerance`."""
    fix: str = ""
    """What to do about it."""

    def __str__(self) -> str:
        place = ": ".join(part for part in (self.where, self.field) if part)
        text = f"{place}: {self.message}" if place else self.message
        return f"{text}\n    fix: {self.fix}" if self.fix else text


class GradetrailError(Exception):
    """Base of all errors; carries every fault that was found, not just the first."""

    exit_code = 2

    def __init__(self, *faults: Fault | str) -> None:
        self.faults: tuple[Fault, ...] = tuple(
            fault if isinstance(fault, Fault) else Fault(fault) for fault in faults
        )
        super().__init__("\n".join(str(fault) for fault in self.faults))


class SpecError(GradetrailError):
    """The spec, or a file that it names, is at fault."""

    draft: object | None = None
    """The spec without what is at fault, so that the rest can be checked; None if nothing is left."""
    own_faults: Callable[[Iterable[Fault]], list[Fault]] = list
    """Keeps those faults of the draft that do not follow from what it leaves out."""


class DatasetError(GradetrailError):
    """The dataset cannot be read as it stands."""


class StoreError(GradetrailError):
    """The warehouse cannot be opened, read or written."""


class RunLockedError(StoreError):
    """Another process is generating into this run."""


class BrokenOffError(StoreError):
    """The warehouse failed while calls were made: the run is to be gone on with, and has what it got."""

    exit_code = 3


class ResumeError(GradetrailError):
    """A run cannot be continued as asked; each fault is one difference, old and new."""


class SelectionError(GradetrailError):
    """A name, id or filter that matches nothing."""


class QueryError(GradetrailError):
    """SQL that DuckDB refused."""


class LimitError(QueryError):
    """A query that was stopped because it met a limit: there is no result."""

    exit_code = 3


class DependencyError(GradetrailError):
    """An optional package is not installed."""


class VerdictError(GradetrailError):
    """The answer to the question asked is no: a gate failed, a condition does not hold."""

    exit_code = 1


class UnusableError(GradetrailError):
    """A result exists but must not be used."""

    exit_code = 3


class UndecidedError(GradetrailError):
    """There is no evidence either way, and the user asked for some."""

    exit_code = 4


class InterruptError(GradetrailError):
    """Ctrl-C; the message says how to go on."""

    exit_code = 130


class ProviderError(Exception):
    """One call failed. The engine decides whether to try again; in the end it becomes a row."""

    def __init__(
        self,
        error_type: str,
        message: str,
        *,
        http_status: int | None = None,
        retry_after_s: float | None = None,
        is_unreachable: bool = False,
        is_final: bool = False,
    ) -> None:
        super().__init__(message)
        self.error_type = error_type
        """One of `providers.response.ERROR_TYPES`."""
        self.http_status = http_status
        self.retry_after_s = retry_after_s
        """Seconds that the server asked to wait; None if it did not say."""
        self.is_unreachable = is_unreachable
        """Whether nobody there can answer: host unknown or refused, or no HTTP spoken; not a break."""
        self.is_final = is_final
        """Whether it is not tried again, though errors of its type are."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Say which known name comes nearest, and list all if there are few: for `fix` texts."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if not names:
        return ""
    listing = f"known: {', '.join(names)}" if len(names) <= 40 else f"{len(names)} are known"
    return f"did you mean `{near[0]}`? {listing}" if near else listing
