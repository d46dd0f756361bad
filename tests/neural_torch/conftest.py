"""Tests that need torch; without it, `test_installed` says so and the others are left out."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

HERE = Path(__file__).parent
INSTALLED = find_spec("torch") is not None
NEEDED = [] if INSTALLED else [path.name for path in HERE.glob("*.py")]
collect_ignore = [name for name in NEEDED if name not in ("conftest.py", "test_installed.py")]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave these tests to ``make test-torch``."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Run torch in one thread, as small tensors are fastest."""
    torch = pytest.importorskip("torch", reason="torch is missing: make test-torch installs it")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
