"""A page, parsed: its elements with their attributes and text."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "hr", "path", "circle", "use", "marker", "rect", "polygon", "line"}
ENDS = {
    "tbody": ("td", "th", "tr", "thead"),
    "tr": ("td", "th", "tr"),
    "td": ("td", "th"),
    "th": ("td", "th"),
}
OPTIONAL = {"tr", "td", "th", "tbody", "thead", "li", "p"}


@dataclass
class Element:
    """An element."""

    tag: str
    attributes: dict[str, str | None]
    parents: tuple[str, ...]
    text: str = ""


@dataclass
class Page(HTMLParser):
    """A parsed page; elements that are not closed properly are errors."""

    elements: list[Element] = field(default_factory=list)
    open: list[Element] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    @classmethod
    def of(cls, html: str) -> Page:
        page = cls()
        page.feed(html)
        page.close()
        page.errors += [f"<{e.tag}> is not closed" for e in page.open if e.tag not in OPTIONAL]
        return page

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        ended = ENDS.get(tag, ())
        while self.open and self.open[-1].tag in ended:
            self.open.pop()
        names = [name for name, _ in attrs]
        if len(set(names)) < len(names):
            self.errors.append(f"<{tag}> has an attribute twice")
        element = Element(tag, dict(attrs), tuple(e.tag for e in self.open))
        self.elements.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(Element(tag, dict(attrs), tuple(e.tag for e in self.open)))

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open[-1].tag != tag and self.open[-1].tag in OPTIONAL:
            self.open.pop()
        if not self.open or self.open[-1].tag != tag:
            if tag not in VOID:
                self.errors.append(f"</{tag}> closes {self.open[-1].tag if self.open else None}")
            return
        self.open.pop()

    def handle_data(self, data: str) -> None:
        for element in self.open:
            element.text += data

    def all(self, tag: str) -> list[Element]:
        return [element for element in self.elements if element.tag == tag]

    def section(self, place: str) -> str:
        """Return the text of a section."""
        (found,) = [e for e in self.elements if e.attributes.get("id") == place]
        return found.text
