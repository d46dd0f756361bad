"""The examples of the documentation, run as they stand."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import click
import pytest

from pairdp.cli.main import main

ROOT = Path(__file__).parents[1]
EXAMPLES = [
    "README.md",
    "docs/privacy.md",
    "docs/losses.md",
    "docs/algorithms.md",
    "docs/estimators.md",
    "docs/schema.md",
    "docs/online.md",
    "docs/audit.md",
    "docs/diagnostics.md",
    "docs/theory.md",
    "docs/scorecard.md",
    "docs/evaluation.md",
    "docs/selection.md",
    "docs/neural.md",
    "docs/report.md",
    "docs/migrating_from_metric_learn.md",
]


@pytest.mark.parametrize("page", EXAMPLES)
def test_examples_of_a_page(page: str) -> None:
    # A closing fence would be read as expected output.
    text = (ROOT / page).read_text(encoding="utf-8").replace("```", "")
    examples = doctest.DocTestParser().get_doctest(text, {}, page, page, 0)
    results = doctest.DocTestRunner().run(examples)
    assert results.attempted > 0
    assert results.failed == 0


PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for part in page.read_text(encoding="utf-8").split("](")[1:]:
        target = part.split(")")[0]
        if not target.startswith("http"):
            assert (page.parent / target.partition("#")[0]).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_and_their_options_exist(page: Path) -> None:
    blocks = "\n".join(page.read_text(encoding="utf-8").split("```")[1::2])
    for words in re.findall(r"^(?:\$ )?pairdp ([a-z].*)$", blocks, re.MULTILINE):
        name, *rest = re.split(r" {2,}| #", words)[0].split()
        command = main.get_command(click.Context(main), name)
        if isinstance(command, click.Group):
            command = command.get_command(click.Context(command), rest[0])
        assert command is not None, words
        known = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in rest if word.startswith("-")} <= known, words
