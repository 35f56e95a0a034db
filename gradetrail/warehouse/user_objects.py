"""The user's own views and macros: `<warehouse>/sql/*.sql`, one a file.

Invariant: a file creates exactly one view or macro, named like the file, and replaces nothing of
gradetrail's or DuckDB's; it runs on a connection that reads the live files only. A file that breaks
this is set aside with its fault, and everything else works.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gradetrail import sql
from gradetrail.errors import Fault

if TYPE_CHECKING:
    import duckdb

SHOWN = ("views", "base")
"""Layers of `sql/` that are meant for users."""
FIX = "one `create view NAME as ...` or `create macro NAME(...) as ...` a file, in NAME.sql"


@dataclass(frozen=True, slots=True)
class UserObject:
    """One file of the user's."""

    path: Path

    @property
    def name(self) -> str:
        """Name of the view or macro."""
        return self.path.stem

    @property
    def text(self) -> str:
        """What the file says; empty where it cannot be read."""
        try:
            return self.path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return ""

    @property
    def summary(self) -> str:
        """First comment line of the file; empty if it has none."""
        first = self.text.strip().partition("\n")[0]
        return first.removeprefix("--").strip() if first.startswith("--") else ""

    @property
    def is_ignored(self) -> bool:
        """Whether gradetrail has a view, table or macro of this name, so that the file is never read."""
        return any(self.name.lower() in sql.names(layer) for layer in SHOWN)

    @property
    def ignored(self) -> Fault:
        """What is wrong with a file that is ignored."""
        fix = "rename the file, and the view in it, to a name of your own"
        return Fault(f"is ignored: gradetrail has its own `{self.name.lower()}`", str(self.path), fix=fix)

    def create(self, con: duckdb.DuckDBPyConnection) -> Fault | None:
        """Create it; a fault means that it was refused and nothing was created."""
        import duckdb

        where = str(self.path)
        if self.is_ignored:
            return self.ignored
        try:
            text = self.path.read_text(encoding="utf-8")
            statements = con.extract_statements(text)
            if len(statements) != 1 or statements[0].type != duckdb.StatementType.CREATE:
                return Fault("is not one CREATE statement", where, fix=FIX)
            before = _objects(con)
            con.execute("begin")
            con.execute(text)
            made = _objects(con) - before
            shadows = ("macro", self.name) in made and _is_builtin(con, self.name)
            if made in ({("view", self.name)}, {("macro", self.name)}) and not shadows:
                con.execute("commit")
                return None
            con.execute("rollback")
        except (duckdb.Error, OSError, UnicodeDecodeError) as error:
            _abandon(con)
            return Fault(str(error).strip(), where, fix="mend the file, or take it away")
        if shadows:
            return Fault(
                f"`{self.name}` is a function of DuckDB, which our views call", where, fix="rename it"
            )
        what = ", ".join(f"{kind} {name}" for kind, name in sorted(made)) or "nothing new"
        return Fault(f"creates {what}; `{self.name}` was expected", where, fix=FIX)


def is_ours(name: str) -> bool:
    """Say whether gradetrail has a view or table of this name, which takes no arguments."""
    return any(name in sql.names(layer) and not sql.is_macro(f"{layer}/{name}") for layer in SHOWN)


def our_views() -> list[str]:
    """List gradetrail's own views and tables that take no arguments."""
    return [stem for layer in SHOWN for stem in sql.names(layer) if is_ours(stem)]


def user_objects(home: Path) -> list[UserObject]:
    """List the user's files, sorted by name; `home` is the local folder with what the user added."""
    return [UserObject(path) for path in sorted((home / "sql").glob("*.sql"))]


def creatable(home: Path) -> list[UserObject]:
    """List the user's files that a warehouse of this process may create."""
    return user_objects(home) if sql.takes_others() else []


def named_in(text: str, users: Iterable[UserObject]) -> list[UserObject]:
    """List those that a query names, with those that they name: the others cost it nothing."""
    left, found, waiting = list(users), [], [text]
    while waiting:
        words = waiting.pop()
        for own in list(left):
            if re.search(rf"(?<!\w){re.escape(own.name)}(?!\w)", words, re.IGNORECASE):
                left.remove(own)
                found.append(own)
                waiting.append(own.text)
    return found


def ignored_in(text: str, users: Iterable[UserObject]) -> list[Fault]:
    """Say which files of the user's a query names, or a view's name is, that are ignored for their names."""
    return [own.ignored for own in named_in(text, users) if own.is_ignored]


def create_all(
    objects: Iterable[UserObject], create: Callable[[UserObject], Fault | None]
) -> dict[str, Fault]:
    """Create the user's objects, whatever the order in which they read each other; faults by name."""
    waiting = list(objects)
    while waiting:
        faults = {own.name: fault for own in waiting if (fault := create(own)) is not None}
        if len(faults) == len(waiting):
            return faults
        waiting = [own for own in waiting if own.name in faults]
    return {}


def _objects(con: duckdb.DuckDBPyConnection) -> set[tuple[str, str]]:
    """List everything that a CREATE statement can make, as (kind, name)."""
    found = con.execute(
        "select 'view', view_name from duckdb_views() where not internal and not temporary"
        " union all select 'macro', function_name from duckdb_functions()"
        " where function_type in ('macro', 'table_macro') and not internal and database_name <> 'temp'"
        " union all select 'table', table_name from duckdb_tables()"
        " union all select 'schema', schema_name from duckdb_schemas() where not internal"
        " union all select 'sequence', sequence_name from duckdb_sequences()"
        " union all select 'index', index_name from duckdb_indexes()"
        " union all select 'type', type_name from duckdb_types() where not internal"
    ).fetchall()
    return {(kind, name) for kind, name in found}


def _is_builtin(con: duckdb.DuckDBPyConnection, name: str) -> bool:
    """Say whether DuckDB has a function of this name, which a macro would take the place of."""
    found = con.execute(
        "select 1 from duckdb_functions() where internal and lower(function_name) = lower($name) limit 1",
        {"name": name},
    )
    return found.fetchone() is not None


def _abandon(con: duckdb.DuckDBPyConnection) -> None:
    import duckdb

    try:
        con.execute("rollback")
    except duckdb.Error:
        return  # no transaction had begun
