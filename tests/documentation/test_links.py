"""Links between pages; the build of the site checks anchors, too."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.documentation.pages import PAGES, name


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for part in page.read_text(encoding="utf-8").split("](")[1:]:
        target = part.split(")")[0]
        # The build of the site writes the reference, and checks links to it.
        if not target.startswith(("http", "reference/")):
            assert (page.parent / target.partition("#")[0]).exists(), target
