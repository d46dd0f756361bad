"""The examples of the page on scale, which need Dask."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "scale.md"


@pytest.mark.filterwarnings("ignore")  # of Dask's own
def test_examples_of_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8").replace("```", "")
    examples = doctest.DocTestParser().get_doctest(text, {}, PAGE.name, str(PAGE), 0)
    results = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(examples)
    assert results.attempted > 10
    assert results.failed == 0
