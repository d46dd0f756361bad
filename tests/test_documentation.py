"""The examples of the documentation, run as they stand."""

from __future__ import annotations

import doctest
import json
import re
from importlib.util import find_spec
from pathlib import Path

import click
import pytest

from pairdp.cli.main import main

ROOT = Path(__file__).parents[1]
# Pages that are written by hand; those of the reference and the gallery are made by `make docs`.
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("docs/explanations/*.md")])
BLOCK = re.compile(r"^```(\S*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
DASK = "scale.md"  # its examples run in tests/dask
TORCH = "neural.md"  # its example of a module runs in tests/neural_torch
# Each language of a block, and how the block is tested.
LANGUAGES = {
    "python": "run here, in tests/dask or tests/neural_torch; other libraries if installed",
    "shell": "run in tests/cli/test_documented_commands.py, or their options are checked here",
    "console": "run in tests/cli, and what they print is compared",
    "json": "read by the commands of the page",
    "text": "no code",
}


def blocks(page: Path) -> list[tuple[str, str]]:
    """Return the language and the text of each block of a page."""
    return BLOCK.findall(page.read_text(encoding="utf-8"))


EXAMPLES = [
    page for page in PAGES if page.name != DASK and any(">>> " in text for _, text in blocks(page))
]
OTHERS = [
    pytest.param(page.stem.removeprefix("migrating_from_"), text, id=page.stem)
    for page in PAGES
    if page.name.startswith("migrating_from_")
    for language, text in blocks(page)
    if language == "python" and ">>> " not in text
]


@pytest.mark.parametrize("page", EXAMPLES, ids=lambda page: page.name)
def test_examples_of_a_page(page: Path) -> None:
    # A closing fence would be read as expected output.
    text = page.read_text(encoding="utf-8").replace("```", "")
    examples = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    results = doctest.DocTestRunner().run(examples)
    assert results.attempted > 0
    assert results.failed == 0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of the other libraries
@pytest.mark.parametrize(("library", "code"), OTHERS)
def test_code_of_other_libraries(library: str, code: str) -> None:
    compiled = compile(code, library, "exec")
    if find_spec(library) is not None:
        exec(compiled, {})  # noqa: S102


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.parent != ROOT], ids=lambda page: page.name
)
def test_every_block_is_tested_as_its_language_says(page: Path) -> None:
    for language, text in blocks(page):
        assert language in LANGUAGES or language.startswith("{"), text
        if language == "json":
            json.loads(text)
        if language == "python" and ">>> " not in text:
            assert page.name.startswith("migrating_from_") or page.name == TORCH, text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for part in page.read_text(encoding="utf-8").split("](")[1:]:
        target = part.split(")")[0]
        # Pages of the reference are made by `make docs`, which fails if a link leads nowhere.
        if not target.startswith(("http", "reference/")):
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
