"""Every block of every page is tested, and what is not run is listed with a reason."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import click
import pytest
from benchmarks.__main__ import NAMES

from pairdp.cli.main import main
from tests.documentation.pages import (
    ONLY_CHECKED,
    PAGES,
    ROOT,
    all_blocks,
    blocks,
    name,
    program,
)

INLINE = re.compile(r"`([^`\n]+)`")
FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
TARGETS = re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_block_is_tested(page: Path) -> None:
    for block in blocks(page):
        assert block.treatment


def test_no_code_is_outside_fences() -> None:
    for page in PAGES:
        text = FENCED.sub("", page.read_text(encoding="utf-8"))
        assert not re.search(r"^( *(>>>|\$)| {4,}(pairdp|python|pip)) ", text, re.MULTILINE), page


def test_what_is_not_run_is_on_its_page_and_counted() -> None:
    found = {(block.page, command) for block in all_blocks() for command in block.commands}
    assert set(ONLY_CHECKED) <= found
    assert len(ONLY_CHECKED) == 19  # change it only with a reason in the list
    ours = {(page, command) for page, command in ONLY_CHECKED if program(command) == "pairdp"}
    assert len(ours) == 1
    for page, command in ours:  # readers of the page are told
        assert re.search(rf"not run.*\n{re.escape(command)}", (ROOT / page).read_text("utf-8"))


def check(command: str) -> None:
    """Check that the subcommand, the options, the target or the extras of a command exist."""
    program_name, *words = shlex.split(command, comments=True)
    match program_name:
        case "make":
            assert next(word for word in words if "=" not in word) in TARGETS, command
        case "pip":
            for extras in re.findall(r"\[(.*?)\]", command):
                assert set(extras.split(",")) <= set(PROJECT["optional-dependencies"]), command
        case "pairdp":
            _check_options(words)
        case "python" if words[:2] == ["-m", "benchmarks"]:
            names = [word for word in words[2:3] if not word.startswith("-")]
            assert set(names) <= {*NAMES, "NAME"}, command
        case "python" if words[0] == "-m" and words[1].startswith(("tests.", "tools.")):
            assert (ROOT / f"{words[1].replace('.', '/')}.py").exists(), command
        case "python" if words[0].endswith(".py"):
            assert (ROOT / words[0]).exists(), command


def _check_options(words: list[str]) -> None:
    command: click.Command | None = main
    while isinstance(command, click.Group) and words and re.fullmatch(r"[a-z][a-z-]*", words[0]):
        command = command.get_command(click.Context(command), words[0])
        assert command is not None, words
        words = words[1:]
    assert command is not None
    known = {option for each in command.params for option in (*each.opts, *each.secondary_opts)}
    known |= {"-h", "--help", "--version"}
    assert {word.split("=")[0] for word in words if word.startswith("-")} <= known, words


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_options_targets_and_names_of_commands_exist(page: Path) -> None:
    for block in blocks(page):
        if block.language == "shell":
            for command in block.commands:
                check(command)
    for code in INLINE.findall(FENCED.sub("", page.read_text(encoding="utf-8"))):
        if re.match(r"(make|pip install|pairdp|python) [-a-z'.]", code) and "..." not in code:
            check(code)
