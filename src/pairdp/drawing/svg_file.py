"""A figure as a self-contained SVG document.

It uses only what every viewer supports: plain colours, rules for single classes, and markers drawn
as shapes. Each marker has its values as a title, which browsers show as a tooltip.
"""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import wrap
from xml.etree.ElementTree import Element, SubElement

from pairdp.drawing.canvas import WIDTH, Drawn
from pairdp.drawing.colors import LIGHT, mix
from pairdp.drawing.elements import make, to_svg, write_text
from pairdp.drawing.figure import Figure, Line, Series, Style, keys_of
from pairdp.drawing.file_legend import LETTER, SAMPLE, draw_legend
from pairdp.drawing.markers import SHAPES
from pairdp.drawing.plot import draw
from pairdp.drawing.text import coordinate, measured, number

_EDGE = 14.0
_STROKES: dict[Line, str] = {  # of page.css
    "dashed": "stroke-width:1.5;stroke-dasharray:6 4",
    "dotted": "stroke-width:1.6;stroke-dasharray:1.5 3.5",
    "solid": "stroke-width:2",
    "thin": "stroke-width:1",
}
_MARKER_STROKES: dict[Line, float] = {"dashed": 1.7, "dotted": 1.2, "solid": 1.0, "thin": 1.0}
_PALE = 0.35  # of a series' colour in the markers of dotted lines


def write_svg(figure: Figure, subtitle: str = "") -> str:
    """Return a figure as an SVG document: title, plot, legend, and what the intervals are."""
    canvas, keys = draw(figure), keys_of([figure])
    root = Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "role": "img"})
    SubElement(root, "title").text = figure.title
    SubElement(root, "desc").text = ". ".join(filter(None, (figure.description, subtitle)))
    SubElement(root, "style").text = _rules(figure, keys)
    paper = SubElement(root, "rect", {"class": "card"})
    top = _EDGE
    for text, style, letter in ((figure.title, "heading", 7.6), (subtitle, "soft", LETTER)):
        for row in wrap(text, int(WIDTH / letter)):
            root.append(write_text(row, _EDGE, top + 12, style))
            top += 18 if style == "heading" else 16
    top += 4
    groups = (_plain(drawn, figure, keys) for drawn in canvas.series)
    root.append(_move([*canvas.axes, *groups], top))
    top += canvas.height + 10
    # The names of bars and dots are next to them.
    if figure.mark == "line" or (figure.mark == "dot" and any(s.kind for s in figure.series)):
        legend, height = draw_legend(figure.series, lambda s: _sample(s, keys[s.key]), WIDTH)
        root.append(_move(legend, top))
        top += height
    if figure.has_intervals:
        bars = "Error bars" if figure.mark == "bar" else "Bars"
        shown = {"Band" if s.style.band else bars for s in figure.series if s.has_intervals}
        words = f"{' and '.join(sorted(shown))}: {figure.intervals}."
        root.append(write_text(words, _EDGE, top + 14, "soft"))
        top += 18
    size = {"width": coordinate(WIDTH + 2 * _EDGE), "height": coordinate(top + _EDGE)}
    root.attrib |= {**size, "viewBox": f"0 0 {size['width']} {size['height']}"}
    paper.attrib |= size
    return to_svg(root)


def _plain(drawn: Drawn, figure: Figure, keys: Mapping[tuple[str, str], int]) -> Element:
    """Return the group of a series with its own classes, and with markers as shapes."""
    series = figure.series[drawn.row]
    key = keys[series.key]
    group = make("g", {})
    for element in drawn.group:
        style = element.get("class", "")
        is_line = style == "l"
        if element.tag == "path" and style != "w":
            element.set("class", f"{style[0]}{key}")
        if not is_line or len(drawn.points) > 1:
            group.append(element)
        if is_line and figure.mark != "bar" and series.style.marker is not None:
            for (x, y), point in zip(drawn.points, series.points, strict=True):
                marker = _marker(series.style, key, x, y)
                values = f"{figure.x_text(number(point.x))}: {measured(point.y)}"
                if point.high > point.low:
                    values += f" [{measured(point.low, point.y)}, {measured(point.high, point.y)}]"
                SubElement(marker, "title").text = f"{series.label}, {values}"
                group.append(marker)
    return group


def _sample(series: Series, key: int) -> list[Element]:
    sample = [make("path", {"class": f"l{key}", "d": f"M1 6H{SAMPLE - 1}"})]
    if series.style.band:
        sample.insert(0, make("path", {"class": f"a{key}", "d": f"M1 1H{SAMPLE - 1}V11H1z"}))
    if series.style.marker is not None:
        sample.append(_marker(series.style, key, SAMPLE / 2, 6))
    return sample


def _marker(style: Style, key: int, x: float, y: float) -> Element:
    place = f"translate({coordinate(x)} {coordinate(y)})"
    small = " scale(.7)" if style.line == "thin" else ""
    shape = SHAPES[style.marker or 0]
    return make("path", {"class": f"m{key}", "d": shape, "transform": f"{place}{small}"})


def _move(content: list[Element] | Element, top: float) -> Element:
    return make("g", {"transform": f"translate({coordinate(_EDGE)} {coordinate(top)})"}, content)


def _rules(figure: Figure, keys: Mapping[tuple[str, str], int]) -> str:
    ink, soft, card, grid = (LIGHT[name] for name in ("ink", "soft", "card", "grid"))
    rules = [
        "text{font-family:Arial,'Liberation Sans',sans-serif;font-size:12px}",
        f".card{{fill:{card}}}.ink{{fill:{ink}}}.soft{{fill:{soft}}}",
        f".heading{{fill:{ink};font-size:14px;font-weight:bold}}",
        f".small{{fill:{soft};font-size:11px}}",
        f".halo{{stroke:{card};stroke-width:3;stroke-linejoin:round}}",
        ".end{text-anchor:end}.middle{text-anchor:middle}",
        f".grid{{stroke:{grid};fill:none}}.axis{{stroke:{soft};fill:none}}.w{{stroke:{ink}}}",
    ]
    for series in {series.key: series for series in figure.series}.values():
        key, style = keys[series.key], series.style
        color = LIGHT[f"c{style.color}"]
        thick = style.bold and style.line == "solid"
        stroke = "stroke-width:3" if thick else _STROKES[style.line]
        fill = {"dashed": card, "dotted": mix(color, _PALE)}.get(style.line, color)
        rules += [
            f".l{key}{{fill:none;stroke:{color};stroke-linejoin:round;{stroke}}}",
            f".e{key}{{fill:none;stroke:{color};stroke-width:1.6;stroke-opacity:.5}}",
            f".m{key}{{fill:{fill};stroke:{color};stroke-width:{_MARKER_STROKES[style.line]:g}}}",
            f".a{key}{{fill:{color};fill-opacity:.18}}.b{key}{{fill:{color};fill-opacity:.75}}",
        ]
    return "".join(rules)
