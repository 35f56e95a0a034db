"""Prints the accuracy of each run from promptfoo's database: `load_db.py DB [COPIES]`.

COPIES: first make so many copies of its one run, with ids of their own.
"""

import sqlite3
import sys


def copy(con: sqlite3.Connection, copies: int) -> None:
    """Insert the rows of the first run again under other ids."""
    (first,) = con.execute("select eval_id from eval_results limit 1").fetchone()
    for number in range(1, copies + 1):
        new = f"eval-r{number:02d}-2026-01-01T00:00:{number:02d}"
        for table, own, of in (("evals", {"id": "?1"}, "id"), (
            "eval_results", {"id": "id || ?1", "eval_id": "?1"}, "eval_id",
        )):  # fmt: skip
            columns = [row[1] for row in con.execute(f"pragma table_info({table})")]
            values = ", ".join(own.get(name, f'"{name}"') for name in columns)
            con.execute(f"insert into {table} select {values} from {table} where {of} = ?2", (new, first))
    con.commit()


def main() -> None:
    """Make copies, or read."""
    con = sqlite3.connect(sys.argv[1])
    if len(sys.argv) > 2:
        copy(con, int(sys.argv[2]))
    else:
        print(
            con.execute(
                "select eval_id, count(*), avg(success) from eval_results group by eval_id"
            ).fetchall()
        )


if __name__ == "__main__":
    main()
