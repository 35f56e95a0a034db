"""Runs code that a model wrote, where it can do no harm, and says what came of it.

What a verdict rests on, and what it does not:

*   `checks` are judged in a process of their own (`inside/judge.py`), where the candidate's code has
    never run. The candidate's process is asked for plain values and is never told what they are
    compared with. Nothing that it writes to any descriptor, no exit code, signal, thread, exit
    handler, replaced built-in, trace function or look into its own frames and objects can turn a
    check that does not hold into one that does. What a check takes from the program it takes at the
    program's word: a check that compares with a function of the program's, or with one that only the
    program has imported, trusts it. So checks import what they need (`import math` may be left out).
*   `expect_stdout` is compared here, on the host.
*   A program that holds its own tests and has no `checks` passes by coming to its last line. It must
    say so with a nonce that its process is given only then, so leaving early (`sys.exit`,
    `os._exit`, a signal, exec) is an error and bytes strewn over every descriptor do not pass. But
    tests and candidate share one interpreter: code written against this very protocol, or objects
    that are equal to everything, can pass such tests. Where that matters, put the tests in `checks`.

What the sandbox keeps in: `walls.py`, and `inside/kernel.py` for what a process gives up. A fault in
the kernel itself is outside its reach, as it is for every sandbox that shares the host's kernel.
"""

from gradetrail.scoring.sandbox.run import Job, Limits, Outcome, Sandbox, find_sandbox, run_many

__all__ = ["Job", "Limits", "Outcome", "Sandbox", "find_sandbox", "run_many"]
