"""Reads YAML so that every later message can name a line.

Invariant: YAML 1.2 core types only (`no`, `on`, `012` and dates stay text), and a key that stands
twice in one mapping is refused, since YAML itself would silently keep the last.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import yaml

from gradetrail.errors import Fault, SpecError

Place = tuple[str | int, ...]

_NULL = {"", "~", "null", "Null", "NULL"}
_BOOL = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INT = re.compile(r"[-+]?[0-9]+\Z")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")


class Source:
    """A parsed YAML file: plain values, and the line of each of them."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.lines: dict[Place, int] = {}
        self._faults: list[Fault] = []
        try:
            node = yaml.compose(text, Loader=yaml.SafeLoader)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line = mark.line + 1 if mark else 1
            raise SpecError(
                Fault(
                    f"not valid YAML: {error.problem}", f"{path}:{line}", fix="check indentation and quotes"
                )
            ) from None
        except yaml.YAMLError as error:
            raise SpecError(Fault(f"not valid YAML: {error}", str(path))) from None
        self.value: Any = self._convert(node, ()) if node is not None else None
        if self._faults:
            raise SpecError(*self._faults)

    def where(self, place: Place) -> str:
        """Give `file:line` of a place, or of the nearest thing above it."""
        while place and place not in self.lines:
            place = place[:-1]
        return f"{self.path}:{self.lines.get(place, 1)}"

    def _convert(self, node: yaml.Node, place: Place) -> Any:
        self.lines.setdefault(place, node.start_mark.line + 1)
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node)
        if isinstance(node, yaml.SequenceNode):
            return [self._convert(item, (*place, n)) for n, item in enumerate(node.value)]
        mapping: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                braces = isinstance(key_node, yaml.MappingNode)
                fix = 'put a template in quotes: "{{ ... }}"' if braces else ""
                self._faults.append(Fault("a key must be plain text", f"{self.path}:{line}", fix=fix))
                continue
            key = str(key_node.value)
            here = (*place, key)
            if key in mapping:
                message = f"key `{key}` stands twice (first on line {self.lines[here]})"
                self._faults.append(
                    Fault(message, f"{self.path}:{line}", ".".join(map(str, here)), "keep one of them")
                )
                continue
            self.lines[here] = line
            mapping[key] = self._convert(value_node, here)
        return mapping

    def _scalar(self, node: yaml.ScalarNode) -> Any:
        text = node.value
        if node.style in ("'", '"', "|", ">"):
            return text
        if text in _NULL:
            return None
        if text in _BOOL:
            return _BOOL[text]
        if _INT.match(text) and len(text) < 4000:
            return int(text)
        if _FLOAT.match(text) and math.isfinite(float(text)):
            return float(text)
        return text


def read_source(path: Path) -> Source:
    """Read a YAML file; raise SpecError naming file and line for what is not YAML."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise SpecError(Fault("no such file", str(path), fix="check the path")) from None
    except IsADirectoryError:
        raise SpecError(Fault("is a folder, not a spec file", str(path))) from None
    except UnicodeDecodeError as error:
        raise SpecError(Fault(f"not UTF-8 (byte {error.start})", str(path), fix="save as UTF-8")) from None
    except OSError as error:
        raise SpecError(Fault(f"cannot be read: {error.strerror}", str(path))) from None
    return Source(path, text)
