"""A folder as a new user has it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.helpers import BOUNDS, table, write


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Be in a folder with a table and its bounds, as a new user is."""
    monkeypatch.chdir(tmp_path)
    write(table())
    Path("bounds.json").write_text(json.dumps(BOUNDS))
