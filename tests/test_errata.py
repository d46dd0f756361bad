"""Every entry of the errata names tests that show it, which exist; and its figures are computed."""

from __future__ import annotations

import ast
import math
import re
from pathlib import Path

import pytest
from scipy.stats import poisson

from pairdp.privacy.accounting import gaussian

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


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.split(".")[0])
def test_an_entry_has_a_verdict_and_a_replacement(entry: str) -> None:
    heading, _, body = entry.partition("\n")
    verdict = heading.rpartition(" — ")[2]
    assert re.search("true|false|unproved|proved here", verdict)
    if re.search("false|loose|unproved", verdict):
        assert "*Certified" in body


def test_code_cites_entries_that_exist() -> None:
    names = {entry.split(".")[0] for entry in ENTRIES}
    assert len(names) == len(ENTRIES)
    for path in (ROOT / "src").rglob("*.py"):
        for cited in re.findall(r"errata,? ([A-Z]\d+(?:(?:,| and) [A-Z]\d+)*)", path.read_text()):
            assert set(re.findall(r"[A-Z]\d+", cited)) <= names, path


@pytest.mark.parametrize(
    ("entry", "delta", "limit"),
    [
        ("G3", 1 / 40, 6.42),
        ("G3", 1e-5, 8.42),
        ("G3", 1e-10, 9.85),
        ("X3", 1e-5, 1.20),
        ("X3", 1e-6, 0.79),
        ("X3", 1e-8, 0.27),
    ],
)
def test_limits_of_printed_multipliers(entry: str, delta: float, limit: float) -> None:
    """The largest ε that σ/Δ = √c/ε truly gives at δ."""
    squared = 2 * math.log(1.25 / delta) if entry == "G3" else 1.25 * math.log(1 / delta)
    for epsilon, holds in ((limit - 0.01, True), (limit + 0.01, False)):
        assert (gaussian.delta(epsilon, epsilon / math.sqrt(squared)) <= delta) == holds


@pytest.mark.parametrize(("mean", "factor"), [(100, 1.2), (1000, 23), (10_000, 63)])
def test_the_tail_that_y1_inverts(mean: int, factor: float) -> None:
    """Appearances in many draws, above what is said to have a probability of 1e-6."""
    level = math.log(1e6)
    said = mean + level + math.sqrt(mean * level)
    assert poisson.sf(said, mean) == pytest.approx(factor * 1e-6, rel=0.03)
    assert poisson.sf(mean + level + math.sqrt(2 * mean * level), mean) < 1e-6


def test_without_burn_in_the_recursion_of_h1_grows() -> None:
    alpha, smoothness, largest = 1.0, 5.0, 0.0
    for first in range(3, 20):
        moved = 0.0
        for t in range(first, 400):
            step = (t - 1) / (t - 2) * 2 / (alpha * t)
            contraction = max(abs(1 - step * alpha), abs(1 - step * smoothness))
            moved = contraction * moved + step * 2 / (1 if t == first else t - 1)
            largest = max(largest, moved * alpha * t / 8)
    assert largest == pytest.approx(10.9, abs=0.1)
