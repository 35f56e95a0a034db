"""Which fenced block of an answer counts, whatever its language.

Invariant: only complete blocks count: a fence that is opened and never closed was cut off. What
`code_exec` takes for a Python program is decided in `code_exec`, which also reads code without fences.
"""

from __future__ import annotations

import re

_FENCE = re.compile(r"[ ]{0,3}(`{3,}|~{3,})[ \t]*([^`\n]*?)[ \t\r]*\Z")
PYTHON_TAGS = ("py", "python", "python3")


def last_code_block(text: str) -> str | None:
    """Give the last complete block tagged as Python, else the last complete one; None if there is none.

    A closing fence at the end that nothing opened closes what stands before it.
    """
    lines = text.split("\n")
    blocks: list[tuple[str, str]] = []
    fence, tag, begin = "", "", 0
    for number, line in enumerate(lines):
        match = _FENCE.match(line)
        if match is None:
            continue
        marks, info = match[1], match[2]
        if not fence:
            fence, tag, begin = marks, info.lower().partition(" ")[0].strip("{}."), number + 1
        elif not info and marks.startswith(fence):
            blocks.append((tag, "\n".join(lines[begin:number])))
            fence = ""
    if blocks:
        tagged = [code for tag, code in blocks if tag in PYTHON_TAGS]
        return tagged[-1] if tagged else blocks[-1][1]
    is_stray = bool(fence) and not tag and not any(line.strip() for line in lines[begin:])
    return "\n".join(lines[: begin - 1]) if is_stray else None
