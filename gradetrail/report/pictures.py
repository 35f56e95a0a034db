"""Writes a chart as SVG, PNG or HTML.

Invariant: equal charts give equal SVG; a page holds all that it needs, may fetch nothing, and no text
of a chart can become markup or script.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradetrail.errors import DependencyError, Fault, SelectionError

if TYPE_CHECKING:
    import altair as alt

SUFFIXES = (".svg", ".png", ".html")
PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline' \
'unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:">
<title>gradetrail</title>
<div id="chart"></div>
<script type="application/json" id="spec">{spec}</script>
<script>{script}</script>
<script>
const actions = {{export: true, source: false, compiled: false, editor: false}};
vegaEmbed("#chart", JSON.parse(document.getElementById("spec").textContent), {{renderer: "svg", actions}});
</script>
</html>
"""
_ID = re.compile(r"(?<=id=\")(gradient_|clip)(\d+)(?=\")")
_USE = re.compile(r"(?<=url\(#)(gradient_|clip)(\d+)(?=\))")


@dataclass(frozen=True, slots=True, repr=False)
class Plot:
    """A chart; notebooks show it as it is."""

    chart: alt.TopLevelMixin
    """The chart as Altair has it, to go on with."""

    def save(self, path: str | Path) -> None:
        """Write it as SVG, PNG or a page of HTML that holds all it needs, by the file's suffix."""
        path = Path(path)
        check_target(path)
        try:
            path.write_bytes(self._bytes(path.suffix.lower()))
        except OSError as error:
            raise SelectionError(Fault(f"cannot write {path}: {error.strerror}", "--plot")) from None

    def svg(self) -> str:
        """Give it as SVG."""
        import vl_convert

        return _numbered(str(vl_convert.vegalite_to_svg(self._spec())))

    def _spec(self) -> dict[str, Any]:
        spec: dict[str, Any] = self.chart.to_dict()
        return spec

    def _bytes(self, suffix: str) -> bytes:
        import vl_convert

        if suffix == ".png":
            return bytes(vl_convert.vegalite_to_png(self._spec(), scale=2))
        if suffix == ".svg":
            return self.svg().encode()
        # its stub asks for a snippet, which has a default
        bundle: Any = vl_convert.javascript_bundle
        spec = json.dumps(self._spec()).replace("<", "\\u003c")
        return PAGE.format(spec=spec, script=bundle()).encode()

    def __repr__(self) -> str:
        return "Plot: .save(path) writes it as .svg, .png or .html"

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"image/svg+xml": self.svg(), "text/plain": repr(self)}


def _numbered(svg: str) -> str:
    """Count the marks that others refer to from 0; the library counts on from chart to chart."""
    found = list(dict.fromkeys(match.groups() for match in _ID.finditer(svg)))
    new = {old: f"{old[0]}{number}" for number, old in enumerate(found)}
    for pattern in (_ID, _USE):
        svg = pattern.sub(lambda match: new.get((match[1], match[2]), match[0]), svg)
    return svg


def check_target(path: Path) -> None:
    """Refuse a file that cannot become a picture; SelectionError."""
    if path.suffix.lower() not in SUFFIXES:
        fix = f"name it {path.stem or 'chart'}.svg, .png or .html"
        raise SelectionError(Fault(f"`{path}` has no suffix of a picture", "--plot", fix=fix))
    if path.is_dir() or not path.parent.is_dir():
        reason = "is a folder" if path.is_dir() else "its folder does not exist"
        raise SelectionError(Fault(f"cannot write {path}: {reason}", "--plot"))


def check_extra() -> None:
    """Refuse to draw without what draws; DependencyError."""
    from importlib.util import find_spec

    if find_spec("altair") is None or find_spec("vl_convert") is None:
        raise DependencyError(Fault("charts need the extra `plot`", fix="pip install 'gradetrail[plot]'"))
