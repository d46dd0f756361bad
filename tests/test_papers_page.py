"""``docs/papers.md``: every row names what runs it, and everything that it names exists."""

from __future__ import annotations

import importlib
import importlib.util
import re
import shlex
from functools import cache
from pathlib import Path

import click
import pytest

from pairdp.algorithms import find_algorithm
from pairdp.algorithms.registry import algorithms
from pairdp.cli.plan_command import command as plan_command
from pairdp.cli.study_command import command as study_command
from pairdp.studies.papers import STUDIES
from pairdp.studies.run import find_study
from pairdp.studies.study import Scale, Study

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
_TABLES = re.findall(r"^\| in the paper .*\n\|[-|]+\n((?:\|.*\n)+)", TEXT, re.MULTILINE)
ROWS = [row for table in _TABLES for row in table.splitlines()]
NAMES = sorted(set(re.findall("`([^`]+)`", TEXT)))
TESTS = [name for name in NAMES if name.startswith("tests/") and "::" in name]
COMMANDS = [name for name in NAMES if name.startswith("pairdp study ")]
OBJECTS = [name for name in NAMES if re.fullmatch(r"pairdp(\.\w+)+", name)]
ALGORITHMS = re.findall(r'find_algorithm\("(\w+)"\)', TEXT)
PLANS = [name for name in NAMES if name.startswith("pairdp plan ")]
RUNS = re.compile(r"`(tests/[^`]+::|pairdp study )")
PACKAGE = re.compile(r"`pairdp\.\w+`")


@cache
def _study(name: str) -> Study:
    return find_study(name, Scale())


def _parsed(text: str) -> tuple[str, list[str]]:
    """Return the study and the exhibits of a command, as the command line reads them."""
    with study_command.make_context("study", shlex.split(text)[2:]) as context:
        found = context.params
    exhibits = [f"Table {number}" for number in found["tables"]]
    exhibits += [f"Figure {number}" for number in found["figures"]]
    return found["name"], [*exhibits, *found["others"]]


def test_there_is_a_table_for_each_paper() -> None:
    assert len(_TABLES) == 5


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split("|")[1].strip())
def test_every_row_is_run_and_says_what_came_out(row: str) -> None:
    item, runs, found = (part.strip() for part in row.strip("|").split(" | "))
    assert item
    assert RUNS.search(runs), "a row needs a test or a study"
    packages = [name for name in PACKAGE.findall(runs) if importlib.util.find_spec(name[1:-1])]
    assert not packages, "a row names functions, not packages"
    assert found


@pytest.mark.parametrize("name", TESTS)
def test_named_tests_exist(name: str) -> None:
    path, test = name.split("::")
    assert re.search(rf"^def {test}\(", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("text", COMMANDS)
def test_named_exhibits_are_those_of_the_study(text: str) -> None:
    name, exhibits = _parsed(text)
    part = _study(name).only(exhibits)
    assert len(part.exhibits) >= max(1, len(exhibits))


@pytest.mark.parametrize("text", PLANS)
def test_named_plans_are_those_of_the_command(text: str) -> None:
    with plan_command.make_context("plan", shlex.split(text)[2:]) as context:
        assert context.params["theory"]


def test_a_wrong_command_would_be_noticed() -> None:
    name, exhibits = _parsed("pairdp study wang2024 --figure 3")
    with pytest.raises(ValueError, match="no exhibit 'Figure 3'"):
        _study(name).only(exhibits)
    with pytest.raises(click.UsageError):
        _parsed("pairdp study wang2023")


@pytest.mark.parametrize("name", OBJECTS)
def test_named_functions_exist(name: str) -> None:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError:
        module, attribute = name.rsplit(".", 1)
        assert hasattr(importlib.import_module(module), attribute)


def test_every_published_algorithm_has_a_row() -> None:
    for name in ALGORITHMS:
        find_algorithm(name)
    assert set(algorithms(published=True)) <= set(ALGORITHMS)


def test_every_exhibit_of_a_paper_has_a_row() -> None:
    named: dict[str, set[str]] = {}
    for text in COMMANDS:
        name, exhibits = _parsed(text)
        named.setdefault(name, set()).update(_study(name).only(exhibits).exhibits)
    for name, exhibits in named.items():
        assert set(_study(name).exhibits) == exhibits, name
    assert set(named) == set(STUDIES)
