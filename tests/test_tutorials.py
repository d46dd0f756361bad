"""The tutorials, from top to bottom."""

from __future__ import annotations

import runpy
from pathlib import Path

import matplotlib as mpl
import pytest
from matplotlib import pyplot as plt

TUTORIALS = sorted((Path(__file__).parents[1] / "examples" / "tutorials").glob("plot_*.py"))

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_a_tutorial_runs_verifies_and_draws(
    path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    mpl.use("agg")
    monkeypatch.chdir(tmp_path)
    drawn = []
    monkeypatch.setattr(plt, "show", lambda: drawn.extend(plt.get_fignums()))
    runpy.run_path(str(path))
    plt.close("all")
    assert drawn
    out = capsys.readouterr().out
    assert " holds: ε = " in out or "standard deviation" in out
