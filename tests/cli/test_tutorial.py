"""The hospital tutorial: every command on the page prints what the page says."""

from __future__ import annotations

import re

import pytest

from pairdp.cli import schema_command
from tests.cli.tutorial import PAGE, run_page

_LONG = re.compile(r"-?\d+\.\d{7,}")


def words_and_numbers(page: str) -> tuple[str, list[float]]:
    """Return a page without long numbers and versions, and the numbers."""
    page = re.sub(r"pairdp \d+\.\d+\S*;", "pairdp;", page)
    return " ".join(_LONG.sub("", page).split()), [float(text) for text in _LONG.findall(page)]


def test_the_page_is_what_the_commands_print(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema_command, "_is_terminal", lambda: True)
    page = PAGE.read_text(encoding="utf-8")
    assert page.count("$ pairdp") > 4
    words, numbers = words_and_numbers(page)
    found, measured = words_and_numbers(run_page(page))
    assert found == words
    assert measured == pytest.approx(numbers, rel=1e-5)
