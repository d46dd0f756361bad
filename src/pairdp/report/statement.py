"""The statement of a certificate as HTML: the same words, without line breaks of its own."""

from __future__ import annotations

from pairdp.report.html import Html, bullets, tag

_ITEM = "  - "


def statement(text: str) -> Html:
    r"""Return a statement, whose blocks are separated by empty lines, as paragraphs and lists.

    Examples
    --------
    >>> statement("One\nclaim.\n\nReleased:\n  - a\n    b\n  - c")
    '<div class="statement"><p>One claim.</p><p>Released:</p><ul><li>a b</li><li>c</li></ul></div>'
    """
    blocks = [block for block in text.split("\n\n") if block.strip()]
    return tag("div", *(part for block in blocks for part in _block(block)), cls="statement")


def _block(block: str) -> list[Html]:
    """Return the paragraph of a block, and the list that may follow it."""
    first, *items = f"\n{block}".split(f"\n{_ITEM}")
    parts = [tag("p", _joined(first))] if first.strip() else []
    return [*parts, bullets(map(_joined, items))] if items else parts


def _joined(lines: str) -> str:
    return " ".join(lines.split())
