"""Links of pages to files of the repository, which lead to pages of the site here."""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.application import Sphinx

_PAGES = {
    "CONTRIBUTING.md": "contributing",
    "CHANGELOG.md": "changelog",
    "src/pairdp/studies/data/files/ATTRIBUTION.md": "data_licences",
}
_LINK = re.compile(r"\]\((?:\.\./)+([\w./-]+)(#[\w-]+)?\)")
_SOURCES = "source"
_LAST_LINE = re.compile(r"\n\n```\n")  # doctest needs the empty line, readers do not


def write_sources(app: Sphinx) -> None:
    """Write a page with the text of every Python file that a page links to."""
    docs = Path(app.srcdir)
    texts = [page.read_text(encoding="utf-8") for page in docs.rglob("*.md")]
    links = {link[1] for text in texts for link in _LINK.finditer(text)}
    for link in sorted(links):
        if link.endswith(".py") and (docs.parent / link).is_file():
            page = docs / _SOURCES / f"{link}.rst"
            page.parent.mkdir(parents=True, exist_ok=True)
            title = f"{link}\n{'=' * len(link)}\n"
            text = f":orphan:\n\n{title}\n.. literalinclude:: /../{link}\n   :language: python\n"
            if not page.exists() or page.read_text(encoding="utf-8") != text:
                page.write_text(text, encoding="utf-8")


def lead_to_the_site(app: Sphinx, page: str, source: list[str]) -> None:
    """Let links to files of the repository lead to their pages."""

    def target(link: re.Match[str]) -> str:
        if link[1] in _PAGES:
            return f"](/{_PAGES[link[1]]}.md{link[2] or ''})"
        if link[1].endswith(".py"):
            return f"](/{_SOURCES}/{link[1]}.rst)"
        return link[0]

    if Path(app.env.doc2path(page)).suffix == ".md":
        source[0] = _LAST_LINE.sub("\n```\n", _LINK.sub(target, source[0]))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register this with Sphinx."""
    app.connect("builder-inited", write_sources)
    app.connect("source-read", lead_to_the_site)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
