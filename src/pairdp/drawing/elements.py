"""Elements of a drawing, written into an HTML page or as an SVG document."""

from __future__ import annotations

import re
from collections.abc import Iterable
from xml.etree.ElementTree import Element, tostring

from pairdp.drawing.text import coordinate, escape

_PLAIN = re.compile(r"[\w.#-]+", re.ASCII)
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def make(tag: str, attributes: dict[str, object], children: Iterable[Element] = ()) -> Element:
    """Return an element; numbers are written as coordinates, and None is omitted."""
    words = {
        name: coordinate(value) if isinstance(value, float | int) else str(value)
        for name, value in attributes.items()
        if value is not None
    }
    element = Element(tag, words)
    element.extend(children)
    return element


def write_text(text: str, x: float, y: float, style: str | None = None) -> Element:
    """Return a line of text with its baseline at (x, y)."""
    element = make("text", {"class": style, "x": x, "y": y})
    element.text = text
    return element


def to_html(element: Element) -> str:
    """Return an element as HTML, without optional quotes."""
    content = escape(element.text or "") + "".join(map(to_html, element))
    names = [
        f"{name}={value}" if _PLAIN.fullmatch(value) else f'{name}="{escape(value)}"'
        for name, value in element.items()
    ]
    head = " ".join([element.tag, *names])
    if content:
        return f"<{head}>{content}</{element.tag}>"
    # The slash would become part of a value without quotes.
    return f"<{head}/>" if head.endswith('"') else f"<{head} />"


def to_svg(root: Element) -> str:
    """Return a document as XML; control characters, which XML does not allow, are replaced."""
    for element in root.iter():
        element.text = _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", element.text or "") or None
    return tostring(root, encoding="unicode") + "\n"
