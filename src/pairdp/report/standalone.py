"""A plot of the page as an SVG document that needs nothing around it.

Only what every viewer knows is used: plain colours, rules for single classes, and markers
drawn as shapes.
"""

from __future__ import annotations

import re
from copy import deepcopy
from functools import cache
from html.parser import HTMLParser
from importlib.resources import files
from textwrap import wrap
from xml.etree.ElementTree import Element, SubElement, tostring

from pairdp.report.dot_plot import draw_dots
from pairdp.report.drawn_legend import LETTER, SAMPLE, draw_legend, write
from pairdp.report.figures import Line, Plot
from pairdp.report.line_plot import WIDTH, draw_lines
from pairdp.report.looks import FAVOURITE, SHAPES, Looks
from pairdp.report.text import coordinate, number

_EDGE = 14.0
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_STROKES = {  # of style.css
    "paper": "stroke-width:1.5;stroke-dasharray:6 4",
    "printed": "stroke-width:1.6;stroke-dasharray:1.5 3.5",
    "certified": "stroke-width:2",
    "baseline": "stroke-width:1",
}
_MARKER_STROKES = {"paper": 1.7, "printed": 1.2, "certified": 1.0, "baseline": 1.0}
_PALE = 0.35  # of a series' colour in the markers of printed noise


def write_standalone(title: str, subtitle: str, plot: Plot, looks: Looks) -> str:
    """Return the SVG document of a plot: title, drawing, legend and what its bars mean."""
    drawing = _parse(draw_lines(plot, looks) if len(plot.xs) > 1 else draw_dots(plot, looks))
    _, _, _, height = (float(side) for side in drawing.attrib["viewbox"].split())
    bars = _make_plain(drawing, plot, looks)
    at = "" if len(plot.xs) > 1 else f" at {plot.x_name} = {number(plot.xs[0])}"
    root = Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "role": "img"})
    SubElement(root, "title").text = f"{title}{at}"
    SubElement(root, "desc").text = f"{drawing.attrib['aria-label']}. {subtitle}"
    SubElement(root, "style").text = _rules(plot, looks)
    paper = SubElement(root, "rect", {"class": "card"})
    top = _EDGE
    for text, style, letter in ((f"{title}{at}", "heading", 7.6), (subtitle, "soft", LETTER)):
        for row in wrap(text, int(WIDTH / letter)):
            root.append(write(row, _EDGE, top + 12, style))
            top += 18 if style == "heading" else 16
    top += 4
    root.append(_move(drawing, top))
    top += height + 10
    legend, tall = draw_legend(plot.lines, lambda line: _sample(line, looks), WIDTH)
    root.append(_move(legend, top))
    top += tall
    if bars:
        root.append(write("Bars: 95 % intervals of the means.", _EDGE, top + 14, "soft"))
        top += 18
    size = {"width": coordinate(WIDTH + 2 * _EDGE), "height": coordinate(top + _EDGE)}
    root.attrib |= {**size, "viewBox": f"0 0 {size['width']} {size['height']}"}
    paper.attrib |= size
    for element in root.iter():  # XML has no way to write control characters
        element.text = _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", element.text or "")
    return tostring(root, encoding="unicode") + "\n"


class _Reader(HTMLParser):
    """Reads a drawing of the page, whose attributes need not be quoted as in XML."""

    def __init__(self) -> None:
        super().__init__()
        self.path = [Element("whole")]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        self.path.append(self.path[-1][-1])

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        SubElement(self.path[-1], tag, {name: value or "" for name, value in attrs})

    def handle_endtag(self, tag: str) -> None:
        self.path.pop()

    def handle_data(self, data: str) -> None:
        self.path[-1].text = (self.path[-1].text or "") + data


def _parse(drawing: str) -> Element:
    reader = _Reader()
    reader.feed(drawing)
    reader.close()
    return reader.path[0][0]


def _make_plain(drawing: Element, plot: Plot, looks: Looks) -> bool:
    """Replace what only the page's style can draw, and return whether there are error bars."""
    bars = False
    for group in list(drawing):
        if "data-row" in group.attrib:
            line = plot.lines[int(group.attrib["data-row"])]
            bars |= any(path.get("class") == "e" for path in group)
            group[:] = _make_line(group, line, looks)
            group.attrib.clear()
        elif group.get("class") in ("rows", "columns"):
            kind = group.attrib.pop("class")
            for text in group:
                style = "ink" if text.get("class") == "title" else "soft"
                _restyle(text, f"{style} {'end' if kind == 'rows' else 'middle'}", kind == "rows")
        elif group.get("class") == "title":
            _restyle(group, "ink", centred=False)
    return bars


def _restyle(text: Element, style: str, centred: bool) -> None:
    text.set("class", style)
    if centred:  # in words that older viewers know
        text.set("dy", "4")


def _make_line(group: Element, line: Line, looks: Looks) -> list[Element]:
    made = []
    key = looks.key(line)
    for element in group:
        style = element.get("class", "")
        if style == "l":
            numbers = [float(word) for word in element.attrib["d"].lstrip("M").split()]
            points = dict.fromkeys(zip(numbers[::2], numbers[1::2], strict=True))
            if len(points) > 1:
                made.append(Element("path", {"class": f"l{key}", "d": element.attrib["d"]}))
            made += [_marker(line, looks, x, y) for x, y in points]
        elif style in ("e", "l bare"):
            made.append(Element("path", {"class": f"{style[0]}{key}", "d": element.attrib["d"]}))
        elif style == "name":
            halo = deepcopy(element)
            halo.set("class", "small end halo")
            element.set("class", "small end")
            made += [halo, element]
        else:
            _restyle(element, "ink end", centred=True)
            made.append(element)
    return made


def _sample(line: Line, looks: Looks) -> list[Element]:
    path = Element("path", {"class": f"l{looks.key(line)}", "d": f"M1 6H{SAMPLE - 1}"})
    return [path, _marker(line, looks, SAMPLE / 2, 6)]


def _marker(line: Line, looks: Looks, x: float, y: float) -> Element:
    shape = _parse(SHAPES[looks.look(line.series).shape])
    small = " scale(.7)" if line.kind == "baseline" else ""
    shape.set("class", f"m{looks.key(line)}")
    shape.set("transform", f"translate({coordinate(x)} {coordinate(y)}){small}")
    return shape


def _move(content: Element, top: float) -> Element:
    moved = Element("g", {"transform": f"translate({coordinate(_EDGE)} {coordinate(top)})"})
    moved.extend(content)
    return moved


@cache
def palette() -> dict[str, str]:
    """Return the light colours of the page by the names of their variables."""
    style = files("pairdp.report").joinpath("style.css").read_text("utf-8")
    found: list[tuple[str, str]] = re.findall(r"--([\w-]+): (#\w+)", style[: style.index("}")])
    return dict(found)


def mix(colour: str, share: float) -> str:
    """Return a colour like "#c23200", mixed with white."""
    parts = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(share * part + (1 - share) * 255):02x}" for part in parts)


def _rules(plot: Plot, looks: Looks) -> str:
    colours = palette()
    rules = [
        "text{font-family:Arial,'Liberation Sans',sans-serif;font-size:12px}",
        f".card{{fill:{colours['card']}}}",
        f".ink{{fill:{colours['ink']}}}",
        f".soft{{fill:{colours['soft']}}}",
        f".heading{{fill:{colours['ink']};font-size:14px;font-weight:bold}}",
        f".small{{fill:{colours['soft']};font-size:11px}}",
        f".halo{{stroke:{colours['card']};stroke-width:3;stroke-linejoin:round}}",
        ".end{text-anchor:end}.middle{text-anchor:middle}",
        f".grid{{stroke:{colours['grid']};fill:none}}",
        f".axis{{stroke:{colours['soft']};fill:none}}",
    ]
    for key, line in {looks.key(line): line for line in plot.lines}.items():
        colour = colours[f"c{looks.look(line.series).colour}"]
        thick = line.series == FAVOURITE and line.kind == "certified"
        stroke = "stroke-width:3" if thick else _STROKES[line.kind]
        fill = {"paper": colours["card"], "printed": mix(colour, _PALE)}.get(line.kind, colour)
        rules += [
            f".l{key}{{fill:none;stroke:{colour};stroke-linejoin:round;{stroke}}}",
            f".e{key}{{fill:none;stroke:{colour};stroke-width:1.6;stroke-opacity:.5}}",
            f".m{key}{{fill:{fill};stroke:{colour};stroke-width:{_MARKER_STROKES[line.kind]:g}}}",
        ]
    return "".join(rules)
