"""What is said about the work never ends the work."""

from __future__ import annotations

import os

from gradetrail.cli.output import say


def test_talk_to_a_reader_that_is_gone_is_dropped() -> None:
    read, write = os.pipe()
    with open(write, "w", encoding="utf-8") as stream:
        os.close(read)
        say("half way", stream)
        say("done", stream)
