"""Loads what a package exports when it is first used.

Invariant: a name that was asked for once is an ordinary attribute of its package from then on.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping


def on_first_use(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """Give the `__getattr__` of a package; `homes` says in which module each name that it exports is."""

    def get(name: str) -> object:
        if name not in homes:
            known = ", ".join(sorted(homes))
            raise AttributeError(f"module `{package}` has no attribute `{name}`; known: {known}")
        value: object = getattr(importlib.import_module(homes[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return get
