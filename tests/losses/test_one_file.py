"""One file adds a loss: with its own fast sums, by name, compiled, saved and loaded."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from pairdp import Budget, NoiseSource, PrivateRanker, load
from pairdp._provenance import is_own
from pairdp.algorithms import GradientDescent
from pairdp.algorithms.kernels import Steps, compiled_steps, plain_steps
from pairdp.algorithms.plan import Progress
from pairdp.constraints import L2Ball
from pairdp.losses import LogisticRanking, RankingLoss, loss_names, register_loss, registry
from pairdp.pairs import risk
from pairdp.privacy import GaussianMechanism
from pairdp.problem import Problem
from pairdp.score_sums.all_pairs import AllPairs, AllPairsSums
from pairdp.storage import ModelFileError
from pairdp.testing import check_pairwise_loss

FILE = '''
"""The exponential ranking loss, whose sums over pairs are products of sums over classes."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pairdp.losses import RankingLoss, register_loss
from pairdp.score_sums import ScoreSums, Structure


@dataclass(frozen=True)
class Sums:
    """Counts and exponential sums of both classes, negatives first."""

    counts: np.ndarray
    values: np.ndarray

    def __add__(self, other):
        return Sums(self.counts + other.counts, self.values + other.values)


@dataclass(frozen=True)
class Exponential(Structure, ScoreSums):
    """exp(-rate (u - v)) = exp(-rate u) exp(rate v), so that sums take O(n) time."""

    rate: float

    def sums(self, phi, slope, low, high, n):
        return self

    def _factors(self, u, positive):
        return np.exp(np.where(positive == 1, -self.rate, self.rate) * u)

    def moments(self, u, positive):
        factors = self._factors(u, positive)
        values = np.array([factors[positive == c].sum() for c in (0, 1)])
        return Sums(np.bincount(positive, minlength=2).astype(float), values)

    def slopes(self, u, positive, moments):
        return -self.rate * self._factors(u, positive) * moments.values[1 - positive]

    def total(self, moments):
        return float(np.prod(moments.values))


@dataclass(frozen=True)
class ExponentialRanking(RankingLoss):
    """phi(u) = exp(-rate u)."""

    convex: ClassVar[bool] = True
    rate: float = 0.5

    def phi(self, u):
        return np.exp(-self.rate * u)

    def slope(self, u):
        return -self.rate * np.exp(-self.rate * u)

    @staticmethod
    def scalar_slope(u, rate):
        return -rate * math.exp(-rate * u)

    def derivative_bound(self, margin_bound):
        return self.rate * float(np.exp(self.rate * margin_bound))

    def curvature(self, margin_bound):
        return self.rate * self.derivative_bound(margin_bound)

    def structure(self):
        return Exponential(self.rate)


register_loss("exponential", ExponentialRanking())
'''

QUIET = Progress(False)
X = np.random.default_rng(0).normal(size=(300, 3))
Y = np.where(X[:, 0] + np.random.default_rng(1).normal(size=300) > 0, 1, -1)
PLAN = ["plan", "--n", "1000", "--features", "3", "--algorithm", "DPGDSC", "--json"]


def pairdp(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the command in a new process, in a folder."""
    code = "from pairdp.cli.main import main; main()"
    command = [sys.executable, "-P", "-c", code, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A module of a user's own, imported, and forgotten afterwards."""
    (tmp_path / "exponential_ranking.py").write_text(FILE)
    monkeypatch.syspath_prepend(tmp_path)
    loss_names(RankingLoss)  # all of the library register before
    named = {
        kind: {name: loss for name, loss in losses.items() if is_own(type(loss))}
        for kind, losses in registry._NAMED.items()
    }
    monkeypatch.setattr(registry, "_NAMED", named)
    import exponential_ranking  # type: ignore[import-not-found]

    yield exponential_ranking
    del sys.modules["exponential_ranking"]


def test_its_sums_are_used_and_right(mine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    used = []
    original = mine.Exponential.slopes
    monkeypatch.setattr(mine.Exponential, "slopes", lambda *a: (used.append(a), original(*a))[1])
    monkeypatch.setattr(AllPairsSums, "slopes", None)
    loss = mine.ExponentialRanking()
    problem = Problem(loss, L2Ball(1.0))
    records = problem.records(X, Y)
    w = np.array([0.3, -0.2, 0.1])
    found = risk(loss, records)
    gradient = found.gradient(w)
    assert used
    sides = [np.repeat(records.x, 300, 0), np.repeat(records.y, 300)]
    sides += [np.tile(records.x, (300, 1)), np.tile(records.y, 300)]
    others = np.repeat(np.arange(300), 300) != np.tile(np.arange(300), 300)
    np.testing.assert_allclose(gradient, loss.gradient(w, *sides)[others].mean(axis=0), rtol=1e-11)
    np.testing.assert_allclose(found.value(w), loss.value(w, *sides)[others].mean(), rtol=1e-12)


def test_it_is_checked(mine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    loss = mine.ExponentialRanking()
    checked: Any = {"raise_on_failure": False, "domains": [Problem(loss, L2Ball(1.0)).domain()]}
    assert check_pairwise_loss(loss, **checked).passed
    monkeypatch.setattr(mine.Exponential, "total", lambda self, moments: 0.0)
    formula = staticmethod(lambda u, rate: -rate * (1 - u))
    monkeypatch.setattr(mine.ExponentialRanking, "scalar_slope", formula)
    failures = check_pairwise_loss(loss, **checked).failures
    assert set(failures) == {"structure", "scalar_slope"}


def test_it_is_fitted_by_name_saved_and_loaded(mine: Any, tmp_path: Path) -> None:
    model = PrivateRanker(epsilon=2.0, loss="exponential", algorithm="DPGDSC", data_norm=1.0)
    model.fit(X, Y).save(tmp_path / "model.pairdp")
    with pytest.raises(ModelFileError, match="exponential_ranking:ExponentialRanking"):
        load(tmp_path / "model.pairdp")
    again = load(tmp_path / "model.pairdp", trusted=[mine.ExponentialRanking])
    np.testing.assert_array_equal(again.coef_, model.coef_)
    assert again.loss == "exponential"


def test_its_steps_are_compiled(mine: Any) -> None:
    pytest.importorskip("numba")
    problem = Problem(mine.ExponentialRanking(rate=0.7), L2Ball(1.0))
    records = problem.records(X, Y)
    steps = Steps(problem, records, GaussianMechanism(1.0, 0.5), 0.1, 50_000, 2, True)
    assert steps.is_worth_compiling()
    steps = Steps(problem, records, GaussianMechanism(1.0, 0.5), 0.1, 200, 2, True)
    for fast, slow in zip(
        compiled_steps(steps, NoiseSource(1), QUIET),
        plain_steps(steps, NoiseSource(1), QUIET),
        strict=True,
    ):
        np.testing.assert_allclose(fast, slow, rtol=1e-10, atol=1e-12)


@pytest.mark.slow
def test_the_command_line_imports_it(tmp_path: Path) -> None:
    (tmp_path / "exponential_ranking.py").write_text(FILE)
    (tmp_path / "broken.py").write_text("1 / 0")
    imported = ("--loss", "exponential", "--import", "exponential_ranking")
    ran = pairdp(*PLAN, *imported, folder=tmp_path)
    assert json.loads(ran.stdout)["chosen"]["noise"] > 0, ran.stderr
    assert "loss must be one of" in pairdp(*PLAN, *imported[:2], folder=tmp_path).stdout
    ran = pairdp(*PLAN, "--import", "./exponential_ranking.py", folder=tmp_path)
    assert "is a file: give the module's name, such as exponential_ranking" in ran.stderr
    for name, why in (("nowhere", "No module named 'nowhere'"), ("broken", "division by zero")):
        ran = pairdp(*PLAN, "--import", name, folder=tmp_path)
        assert ran.returncode == 2
        assert f"{name} cannot be imported: {why}" in ran.stderr
        assert "Traceback" not in ran.stderr


@pytest.mark.slow
def test_the_command_line_fits_it_and_verifies_it_where_it_is_trusted(tmp_path: Path) -> None:
    """The module is in the working directory, as for ``--import``."""
    (tmp_path / "exponential_ranking.py").write_text(FILE)
    table = np.column_stack([X, Y])
    np.savetxt(tmp_path / "data.csv", table, delimiter=",", header="a,b,c,y", comments="")
    fit = ("fit", "data.csv", "--label", "y", "--unscaled", "--data-norm", "1")
    loss = ("--loss", "exponential", "--import", "exponential_ranking", "--algorithm", "DPGDSC")
    assert pairdp(*fit, *loss, "-o", "model.pairdp", folder=tmp_path).returncode == 0
    trust = ("--trust", "exponential_ranking:ExponentialRanking")
    verified = pairdp("verify", "model.pairdp", *trust, folder=tmp_path)
    assert verified.returncode == 0, verified.stderr
    predicted = pairdp("predict", "model.pairdp", "data.csv", *trust, folder=tmp_path)
    assert predicted.stdout.startswith("score,label\n"), predicted.stderr


@pytest.mark.slow
def test_a_file_in_the_package_is_enough(tmp_path: Path) -> None:
    """It is found by its name, and its class by the readers of files, in new processes."""
    (tmp_path / "exponential_ranking.py").write_text(FILE)
    start = f"""
import pairdp.losses
pairdp.losses.__path__.append({str(tmp_path)!r})
import numpy as np
from pairdp import PrivateRanker, load
"""
    fit = """
x = np.random.default_rng(0).normal(size=(300, 3))
model = PrivateRanker(loss="exponential", algorithm="DPGDSC", data_norm=1.0)
model.fit(x, x[:, 0] > 0).save("model.pairdp")
print(type(model.plan_.task.problem.loss).__module__)
"""
    read = """
print(load("model.pairdp").coef_.shape)
"""
    said = [
        subprocess.run(
            [sys.executable, "-c", start + code],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for code in (fit, read)
    ]
    assert said == ["pairdp.losses.exponential_ranking", "(1, 3)"]


def test_names_are_given_once(mine: Any) -> None:
    with pytest.raises(ValueError, match="LogisticRanking is already registered as 'logistic'"):
        register_loss("logistic", mine.ExponentialRanking())
    register_loss("exponential", mine.ExponentialRanking(rate=1.0))  # by the same class
    assert "exponential" in loss_names(RankingLoss)
    with pytest.raises(TypeError, match="only pairwise and pointwise losses"):
        register_loss("mine", object())  # type: ignore[type-var]


def test_a_plan_says_that_sums_are_slow() -> None:
    @dataclass(frozen=True)
    class Slow(LogisticRanking):
        def structure(self) -> Any:
            return AllPairs()

    algorithm = GradientDescent(steps=3, step_size=0.1)
    slow, fast = (
        algorithm.plan(Problem(loss, L2Ball(1.0), 0.1), 100, 2, Budget(1.0, 1e-6))
        for loss in (Slow(), LogisticRanking())
    )
    assert "O(n²) time for Slow" in slow.reasons[-1]
    assert not any("O(n²)" in reason for reason in fast.reasons)
