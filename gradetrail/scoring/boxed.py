r"""What stands in the `\boxed{...}` of an answer.

Invariant: braces balance, so that nothing is cut at the first closing one; a box that is never closed
holds no answer.
"""

from __future__ import annotations

import re

_TOKEN = re.compile(r"\\(?:boxed|fbox)\s*\{|\\[{}]|[{}]")
_STYLED = re.compile(r"\\(?:text|textbf|textit|mathrm|mathbf)\s*\{([^{}\\]*)\}\Z")


def find_boxed(text: str, *, which: str = "last") -> str | None:
    r"""Give the content of the box that opens last (or first) of all closed ones, stripped; None without.

    `\fbox` counts too, escaped braces do not count, empty boxes are passed over, and a `\text{}` around
    the whole content is taken off.
    """
    open_braces: list[int | None] = []  # where the content begins, for boxes; None for other braces
    contents: dict[int, str] = {}
    for token in _TOKEN.finditer(text):
        mark = token[0]
        if mark.endswith("{") and len(mark) > 2:
            open_braces.append(token.end())
        elif mark == "{":
            open_braces.append(None)
        elif mark == "}" and open_braces:
            begin = open_braces.pop()
            if begin is not None and not text[begin : token.start()].isspace() and begin < token.start():
                contents[begin] = text[begin : token.start()].strip()
    if not contents:
        return None
    content = contents[max(contents) if which == "last" else min(contents)]
    styled = _STYLED.match(content)
    return (styled[1].strip() or content) if styled else content
