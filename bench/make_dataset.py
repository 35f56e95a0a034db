"""Writes N synthetic GSM8K-like rows as JSON Lines: `id`, `question`, `answer`.

Each question is a small word problem of about 250 characters whose right answer is computed, and
ends with a marker `[[gold=72]]` that the fake server reads. Deterministic for N and --seed.

    python bench/make_dataset.py 10000 gsm10k.jsonl
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path

NAMES = "Ana Ben Chloe David Elena Farid Grace Hugo Ines Jonas Kira Liam Mona Noah Olga Pavel".split()
THINGS = "apples stickers marbles pencils cookies tickets bottles coins shells stamps cards books".split()
PLACES = ["at the market", "in the school shop", "at the fair", "in a small bakery", "at the library"]


def row(number: int, rng: random.Random) -> dict[str, str]:
    """Make one problem; three kinds take turns."""
    one, other = rng.sample(NAMES, 2)
    thing, place = rng.choice(THINGS), rng.choice(PLACES)
    n, m, d = rng.randint(3, 48), rng.randint(2, 12), rng.randint(2, 7)
    gone = rng.randint(1, n * m // 2 + 1)
    if number % 3 == 0:
        question = (
            f"{one} buys {n} boxes of {thing} {place}. Each box holds {m} {thing}. On the way home "
            f"{one} gives {gone} of them to {other} and keeps the rest. How many {thing} does {one} have "
            f"left when the day is over?"
        )
        answer = n * m - gone
    elif number % 3 == 1:
        question = (
            f"{one} and {other} collect {thing} {place}. {one} collects {n} {thing} every day for {m} days, "
            f"and {other} collects {d} more {thing} per day than {one} does over the same days. How many "
            f"{thing} do they collect together in all?"
        )
        answer = n * m + (n + d) * m
    else:
        question = (
            f"{one} sells {thing} {place} for {d} dollars each. In the morning {n} of the {thing} are "
            f"sold, and in the afternoon {m} times as many as in the morning. {other} then borrows "
            f"{gone} dollars of the takings. How many dollars remain with {one}?"
        )
        answer = (n + n * m) * d - gone
    marked = f"{question} (case {number}) [[gold={answer}]]"
    return {"id": f"s{number:07d}", "question": marked, "answer": str(answer)}


def write(path: Path, n: int, seed: int = 0) -> None:
    """Write n rows."""
    rng = random.Random(seed)
    with path.open("w", encoding="utf-8") as out:
        for number in range(n):
            out.write(json.dumps(row(number, rng), separators=(",", ":")) + "\n")


def main() -> None:
    """Parse the command line and write the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("n", type=int)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    write(args.out, args.n, args.seed)


if __name__ == "__main__":
    main()
