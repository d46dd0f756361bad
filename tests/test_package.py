"""What the package promises as a whole."""

from __future__ import annotations

import importlib
import subprocess
import sys
from importlib.metadata import version
from importlib.resources import files

import pytest

import pairdp
from pairdp import demo


@pytest.mark.parametrize("name", ["pairdp", "pairdp.privacy"])
def test_public_names_exist_and_are_listed_once(name: str) -> None:
    module = importlib.import_module(name)
    assert len(set(module.__all__)) == len(module.__all__)
    for public in module.__all__:
        assert hasattr(module, public)


def test_version_and_types_are_shipped() -> None:
    assert version("pairdp") == pairdp.__version__
    assert files("pairdp").joinpath("py.typed").is_file()


def test_import_leaves_heavy_modules_alone() -> None:
    heavy = ("dp_accounting", "sklearn", "pandas", "matplotlib", "scipy.stats")
    code = f"import sys, pairdp; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_demo_fits_states_and_verifies(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "SPLITS", 1)
    demo.main()
    out = capsys.readouterr().out
    assert "400 records to learn from, 169 held out" in out
    assert "PrivateRanker" in out
    assert "DPGDSC with the paper's noise" in out
    assert "in the metric of PrivateMetric" in out
    assert "in the Euclidean metric" in out
    assert "is differentially private with ε" in out
    assert "The certificate of Least squares from moments holds" in out
