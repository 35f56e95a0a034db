"""How a command talks and prints, as the flags say that go with every command.

Invariant: it is settled once, before the command begins; whoever talks or prints asks here.
"""

from __future__ import annotations

from dataclasses import dataclass

URGENT = ("error: ", "internal error: ", "warning: ", "interrupted")
"""How talk begins that `--quiet` does not silence."""


@dataclass(slots=True)
class Manner:
    """What the flags say."""

    is_quiet: bool = False
    """Say nothing but warnings and errors."""
    is_wide: bool = False
    """Cut neither cells nor columns of tables."""

    def lets_say(self, text: str) -> bool:
        """Tell whether a text may be said on stderr."""
        return not self.is_quiet or text.startswith(URGENT)


MANNER = Manner()
