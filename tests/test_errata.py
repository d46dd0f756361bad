"""Every entry of the errata names tests that show it, and those tests exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ERRATA = (ROOT / "docs" / "errata.md").read_text()
ENTRIES = re.split(r"^### ", ERRATA, flags=re.MULTILINE)[1:]


def functions(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.split(".")[0])
def test_an_entry_is_shown_by_tests(entry: str) -> None:
    shown = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", entry)
    assert shown
    for file, name in shown:
        assert name in functions(ROOT / file), f"{file} has no {name}"


def test_code_cites_entries_that_exist() -> None:
    names = {entry.split(".")[0] for entry in ENTRIES}
    assert len(names) == len(ENTRIES)
    for path in (ROOT / "src").rglob("*.py"):
        for cited in re.findall(r"errata,? ([A-Z]\d+(?:(?:,| and) [A-Z]\d+)*)", path.read_text()):
            assert set(re.findall(r"[A-Z]\d+", cited)) <= names, path
