"""HTML that is escaped unless it was made here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pairdp.drawing.text import escape

_VOID = {"br", "hr"}
_SHORT = 12  # rows that are printed on one page


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def tag(name: str, *children: str | None, **attributes: str | None) -> Html:
    """Return an element; texts among its children are escaped, and None is left out.

    The attribute ``class`` is passed as ``cls``, and underscores stand for hyphens.
    """
    words = "".join(
        f' {"class" if key == "cls" else key.replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Html(f"<{name}{words}>")
    return Html(f"<{name}{words}>{join(children)}</{name}>")


def join(children: Iterable[str | None]) -> Html:
    """Return children one after the other, with texts escaped."""
    return Html(
        "".join(
            child if isinstance(child, Html) else escape(child)
            for child in children
            if child is not None
        )
    )


def paragraphs(*texts: str) -> Html:
    """Return a paragraph for each text."""
    return join(tag("p", text) for text in texts)


def bullets(texts: Iterable[str]) -> Html:
    """Return a list."""
    return tag("ul", *(tag("li", text) for text in texts))


def table(
    head: Sequence[str], rows: Iterable[Sequence[str]], *, caption: str, cls: str | None = None
) -> Html:
    """Return a table whose first column names the rows; it scrolls if there is no room."""
    body = [
        tag("tr", tag("th", row[0], scope="row"), *(tag("td", cell) for cell in row[1:]))
        for row in rows
    ]
    whole = tag(
        "table",
        tag("caption", caption),
        tag("thead", tag("tr", *(tag("th", name, scope="col") for name in head))),
        tag("tbody", *body),
        cls=cls,
    )
    size = "scroll short" if len(body) <= _SHORT else "scroll"
    return tag("div", whole, cls=size, tabindex="0", role="region", aria_label=caption)


def facts(pairs: Iterable[tuple[str, str]]) -> Html:
    """Return a list of names and values."""
    return tag("dl", *(tag("div", tag("dt", name), tag("dd", value)) for name, value in pairs))


def section(place: str, title: str, *children: str | None) -> Html:
    """Return a section with its heading."""
    return tag("section", tag("h2", title), *children, id=place, aria_label=title)
