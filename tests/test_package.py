"""What the package promises as a whole."""

from __future__ import annotations

import importlib
import pickle
import subprocess
import sys
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

import pytest

import pairdp
from pairdp import load, verify
from pairdp.demo import run as demo

ROOT = Path(pairdp.__file__).parent
STUBS = sorted(ROOT.rglob("__init__.pyi"))


@pytest.mark.parametrize("stub", STUBS, ids=lambda path: path.parent.name)
def test_public_names_exist_and_are_listed(stub: Path) -> None:
    module = importlib.import_module(".".join(stub.relative_to(ROOT.parent).parent.parts))
    assert module.__all__
    assert set(module.__all__) <= set(dir(module))
    for name in module.__all__:
        assert hasattr(module, name)


def test_a_name_is_the_same_object_wherever_it_is_exported() -> None:
    assert pairdp.Budget is pairdp.privacy.Budget  # type: ignore[attr-defined]
    assert pickle.loads(pickle.dumps(pairdp.Budget)) is pairdp.Budget


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = pairdp.no_such_name
    with pytest.raises(ImportError, match="no_such_name"):
        exec("from pairdp.losses import no_such_name")  # noqa: S102


def test_version_and_types_are_shipped() -> None:
    assert version("pairdp") == pairdp.__version__
    assert files("pairdp").joinpath("py.typed").is_file()


def test_import_leaves_heavy_modules_alone() -> None:
    heavy = ("dp_accounting", "sklearn", "pandas", "matplotlib", "scipy.stats")
    code = f"import sys, pairdp; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_plain_fit_loads_only_what_it_needs() -> None:
    code = """
import sys
import pairdp
X = [[0.1 * i, 1 - 0.1 * i] for i in range(20)]
pairdp.PrivateRanker(epsilon=1, data_norm=1.0).fit(X, [0, 1] * 10)
print(*sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    unused = (
        "audit", "cli", "drawing", "online", "studies", "tables", "testing", "verification",
        "algorithms.choice.linear", "algorithms.choice.metric", "constraints.matrices",
        "estimators.linear", "estimators.metric", "estimators.online", "losses.logistic_metric",
        "model_file.files", "pairs.risk", "pointwise_problem", "privacy.ledger",
        "storage.container",
    )  # fmt: skip
    loaded = {name.removeprefix("pairdp.") for name in done.stdout.split()}
    assert not loaded & set(unused)


def test_demo_compares_evaluates_verifies_and_says_where_its_report_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, value in {"REPEATS": 1, "TRAIN": 5000, "TEST": 1000, "EPSILONS": (1.0,)}.items():
        monkeypatch.setattr(demo, name, value)
    demo.main(tmp_path / "demo")
    out = capsys.readouterr().out
    for name in (*demo.PRIVATE, *demo.NOT_PRIVATE):
        assert name in out
    assert "private AUC: 0." in out
    assert "holds: ε = 1, δ = 1e-06, n = 5000." in out
    assert str(tmp_path / "demo" / "report.html") in out
    assert "Signature" in (tmp_path / "demo" / "report.html").read_text("utf-8")
    assert verify(load(tmp_path / "demo" / "model.pairdp").certificate_).holds
