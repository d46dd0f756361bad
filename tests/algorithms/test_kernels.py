"""Small noisy steps: compiled, plain, and by a loop that is obviously right."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import chi2

from pairdp import Budget, NoiseSource
from pairdp.algorithms import NoisyGradientDescent, kernels
from pairdp.algorithms import _compiled_steps as machine
from pairdp.algorithms.kernels import Steps, compiled_steps, draw_places, plain_steps
from pairdp.algorithms.plan import Progress
from pairdp.constraints import L2Ball, PSDFrobeniusBall, Unconstrained
from pairdp.constraints.vectors import shrink_to
from pairdp.losses import (
    HingeRanking,
    LeastSquaresPointwise,
    LogisticMetric,
    LogisticRanking,
    RankingLoss,
)
from pairdp.losses.scalar_slope import scalar_slope_of
from pairdp.pointwise_problem import PointwiseProblem
from pairdp.privacy import GaussianMechanism, NoMechanism
from pairdp.problem import Problem
from pairdp.score_sums import AllPairs
from tests.algorithms.kernel_losses import LOSSES, POINTWISE, RANKING

pytest.importorskip("numba")
QUIET = Progress(False)
N, D = 30, 4


def setup(
    loss: Any,
    batch: int,
    steps: int = 40,
    *,
    constraint: Any = L2Ball(0.8),  # noqa: B008
    regularization: float = 0.0,
    center: Any = 0.0,
    scale: float = 0.5,
    step_size: float = 0.1,
) -> Steps:
    rng = np.random.default_rng(5)
    paired = isinstance(loss, RankingLoss)
    kind = Problem if paired else PointwiseProblem
    problem = kind(loss, constraint, regularization, center, data_norm=1.5)
    y = rng.choice([-1.0, 1.0], N)
    if isinstance(loss, LeastSquaresPointwise):
        y = rng.normal(size=N)
    records = problem.records(rng.normal(size=(N, D)), y)
    mechanism = GaussianMechanism(1.0, scale, D) if scale else NoMechanism()
    return Steps(problem, records, mechanism, step_size, steps, batch, paired)


def oracle(steps: Steps, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the last iterate and the sum of all, one ordered pair or record at a time."""
    problem, records = steps.problem, steps.records
    source = NoiseSource(seed)
    generator, draws = source.stream("gradient noise"), source.stream("batches")
    drawn = draw_places(draws, records.n, steps.batch_size, steps.steps, steps.block)
    w, total, mechanism = np.zeros(D), np.zeros(D), steps.mechanism
    blocks = list(drawn)
    noise = np.zeros((steps.steps, D))
    if isinstance(mechanism, GaussianMechanism):
        sizes = [len(block) * D for block in blocks]
        noise = np.concatenate([mechanism.noise(size, generator) for size in sizes])
        noise = noise.reshape(-1, D)
    for t, row in enumerate(np.concatenate(blocks)):
        gradient, terms = np.zeros(D), 0
        if steps.paired:
            for i, j in zip(row[0::2], row[1::2], strict=True):
                for first, second in ((i, j), (j, i)):
                    one = records.rows(np.array([first])), records.rows(np.array([second]))
                    gradient += problem.loss.gradient(w, one[0].x, one[0].y, one[1].x, one[1].y)[0]
                    terms += 1
        else:
            for i in row:
                one = records.rows(np.array([i]))
                gradient += problem.loss.gradient(w, one.x, one.y)[0]
                terms += 1
        gradient /= terms
        if isinstance(mechanism, GaussianMechanism):
            gradient = np.array([round(g / mechanism.grid) * mechanism.grid for g in gradient])
        pull = problem.regularization * (w - problem.center)
        w = w - steps.step_size * (gradient + noise[t] + pull)
        norm = math.sqrt(sum(v * v for v in w))
        if norm > problem.constraint.radius:
            w = w * (problem.constraint.radius / norm)
        total += w
    return w, total


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize(
    "others",
    [
        {},
        {"regularization": 0.3, "center": np.array([0.1, -0.2, 0.3, 0.0])},
        {"scale": 0.0},
    ],
    ids=["plain", "regularised", "no noise"],
)
def test_compiled_and_plain_steps_equal_the_loop(name: str, others: dict[str, Any]) -> None:
    loss = LOSSES[name]
    for batch in (2, 6) if isinstance(loss, RankingLoss) else (1, 2, 5):
        steps = setup(loss, batch, **others)
        assert steps.can_be_compiled()
        right = oracle(steps, 3)
        for way in (compiled_steps, plain_steps):
            for found, expected in zip(way(steps, NoiseSource(3), QUIET), right, strict=True):
                np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", ["logistic", "hinge", "logistic, one record"])
def test_without_a_bound(name: str) -> None:
    loss = LOSSES[name]
    steps = setup(loss, 2, constraint=Unconstrained(), regularization=0.1)
    right = oracle(steps, 4)
    for way in (compiled_steps, plain_steps):
        for found, expected in zip(way(steps, NoiseSource(4), QUIET), right, strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


def test_blocks_join_up(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = setup(LogisticRanking(), 2, 1000)
    whole_run = compiled_steps(steps, NoiseSource(1), QUIET)
    monkeypatch.setattr(kernels, "_BLOCK", 7)
    assert steps.block == 7
    for found, expected in zip(
        compiled_steps(steps, NoiseSource(1), QUIET),
        plain_steps(steps, NoiseSource(1), QUIET),
        strict=True,
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
    # Blocks of another size draw other pairs from the same stream.
    assert not np.allclose(whole_run[0], found)


def test_blocks_hold_bounded_numbers() -> None:
    wide = replace(setup(LogisticRanking(), 2))
    rng = np.random.default_rng(0)
    problem = Problem(LogisticRanking(), L2Ball(1.0))
    records = problem.records(rng.normal(size=(3, 600_000)), [1, -1, 1])
    assert replace(wide, problem=problem, records=records).block == 1


@given(
    st.floats(-1e300, 1e300),
    st.one_of(st.integers(-(2**62), 2**62), st.integers(-(2**30), 2**30)),
    st.integers(-60, 60),
)
@example(1.0, 2**53 + 1, 0)
@example(-(2.0**62), 2**62, 0)
def test_compiled_sums_are_those_of_the_mechanism(value: float, noise: int, power: int) -> None:
    """In integers, also where doubles would round the value, the noise or their sum."""
    mechanism = GaussianMechanism(1.0, 2.0**power, 1, grid=2.0**power)
    gradient, drawn = np.array([value]), np.array([noise])
    point, total, center = np.zeros(1), np.zeros(1), np.zeros(1)
    machine._step(gradient, drawn, mechanism.grid, -1.0, 0.0, center, math.inf, point, total)
    assert point == mechanism.add_to(gradient, drawn)


@pytest.mark.parametrize("size", [1e-200, 1e-150, 1.0, 1e150, 1e200])
@pytest.mark.parametrize("radius", [1e-170, 0.5, 1e160])
def test_projection_neither_overflows_nor_underflows(size: float, radius: float) -> None:
    point = size * np.array([3.0, -4.0, 1.0])
    expected = shrink_to(point, radius)
    machine._shrink(point, radius)
    np.testing.assert_allclose(point, expected, rtol=1e-14)


# Slopes


@pytest.mark.parametrize("name", RANKING)
def test_slopes_are_those_of_the_loss(name: str) -> None:
    loss, u = RANKING[name], np.concatenate([np.linspace(-6, 6, 2001), [-800.0, 800.0, 1.0]])
    found = scalar_slope_of(loss)
    assert found is not None
    compiled = machine.compiled_slope(found.formula, 1 + len(found.parameters)).ctypes
    for slope in (found.formula, compiled):
        values = [slope(v, *found.parameters) for v in u.tolist()]
        np.testing.assert_allclose(values, loss.slope(u), rtol=1e-13, atol=1e-300)


@pytest.mark.parametrize("name", POINTWISE)
def test_slopes_are_those_of_the_loss_of_one_record(name: str) -> None:
    loss, scores = POINTWISE[name], np.linspace(-6, 6, 200)
    found = scalar_slope_of(loss)
    assert found is not None
    compiled = machine.compiled_slope(found.formula, 2 + len(found.parameters)).ctypes
    for y in (-1.0, 1.0):
        wanted = loss.gradient(np.ones(1), scores[:, None], np.full(200, y))[:, 0] / scores
        for slope in (found.formula, compiled):
            values = [slope(score, y, *found.parameters) for score in scores.tolist()]
            np.testing.assert_allclose(values, wanted, rtol=1e-13, atol=1e-300)


@dataclass(frozen=True)
class Halved(LogisticRanking):
    """A loss derived from a built-in one, with a slope of its own."""

    convex = True

    def structure(self):
        return AllPairs()

    def phi(self, u):
        return super().phi(u) / 2

    def slope(self, u):
        return super().slope(u) / 2


def test_other_losses_and_sets_take_plain_steps() -> None:
    assert scalar_slope_of(Halved()) is None
    assert scalar_slope_of(LogisticMetric()) is None
    steps = setup(Halved(), 2, 100_000)
    assert not steps.is_worth_compiling()
    with pytest.raises(TypeError, match="no compiled code for Halved"):
        compiled_steps(steps, NoiseSource(0), QUIET)
    short = replace(steps, steps=40)
    right = oracle(short, 3)
    np.testing.assert_allclose(plain_steps(short, NoiseSource(3), QUIET)[0], right[0], rtol=1e-10)

    @dataclass(frozen=True)
    class Ball(L2Ball):
        """A set derived from a built-in one."""

    assert not setup(LogisticRanking(), 2, 100_000, constraint=Ball(1.0)).is_worth_compiling()


def test_metrics_have_disjoint_pairs_too() -> None:
    problem = Problem(LogisticMetric(), PSDFrobeniusBall(1.0))
    rng = np.random.default_rng(0)
    records = problem.records(rng.normal(size=(12, 2)), rng.integers(3, size=12))
    plan = NoisyGradientDescent(batch_size=4, steps=5, step_size=0.1, pairing="disjoint").plan(
        problem, 12, 2, Budget(1.0, 1e-5)
    )
    found = plan.run(records, NoiseSource(2)).parameters
    assert found.shape == (2, 2)
    np.testing.assert_allclose(found, found.T)


# Draws


@pytest.mark.parametrize(("n", "batch", "count"), [(5, 2, 200_000), (4, 3, 20_000), (7, 1, 50_000)])
def test_draws_are_uniform(n: int, batch: int, count: int) -> None:
    blocks = draw_places(NoiseSource(8).stream("batches"), n, batch, count, 8192)
    rows = np.concatenate(list(blocks))
    assert rows.shape == (count, batch)
    choices = list(itertools.permutations(range(n), batch))
    codes = rows @ n ** np.arange(batch)
    expected = {sum(c * n**k for k, c in enumerate(choice)) for choice in choices}
    seen, counts = np.unique(codes, return_counts=True)
    assert set(seen.tolist()) == expected  # never a record twice
    mean = count / len(choices)
    statistic = float(((counts - mean) ** 2 / mean).sum())
    assert chi2.sf(statistic, len(choices) - 1) > 1e-6
    # Nor does a draw tell the next one's first record.
    table = np.zeros((n, n))
    np.add.at(table, (rows[:-1, -1], rows[1:, 0]), 1)
    mean = (count - 1) / n**2
    assert chi2.sf(float(((table - mean) ** 2 / mean).sum()), n * n - 1) > 1e-6


# When it is compiled


def test_long_runs_are_compiled_and_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem(HingeRanking(), L2Ball(1.0), 0.01)
    rng = np.random.default_rng(0)
    records = problem.records(rng.normal(size=(50, 3)), rng.choice([-1, 1], 50))
    plan = NoisyGradientDescent(batch_size=2, steps=20_000, step_size=0.01).plan(
        problem, 50, 3, Budget(1.0, 1e-5)
    )
    ran = []
    for way in ("compiled_steps", "plain_steps"):
        original = getattr(kernels, way)
        monkeypatch.setattr(
            kernels, way, lambda *a, w=way, f=original, **k: (ran.append(w), f(*a, **k))[1]
        )
    fast = plan.run(records, NoiseSource(1), progress=False).parameters
    monkeypatch.setattr(kernels.importlib.util, "find_spec", lambda name: None)
    slow = plan.run(records, NoiseSource(1), progress=False).parameters
    assert ran == ["compiled_steps", "plain_steps"]
    np.testing.assert_allclose(fast, slow, rtol=1e-9)


@pytest.mark.slow
def test_numba_is_imported_by_long_runs_alone() -> None:
    code = """
import sys
import numpy as np
import pairdp, pairdp.algorithms, pairdp.estimators
from pairdp import Budget
from pairdp.algorithms import NoisyGradientDescent
from pairdp.constraints import L2Ball
from pairdp.losses import LogisticRanking
from pairdp.problem import Problem
problem = Problem(LogisticRanking(), L2Ball(1.0))
rng = np.random.default_rng(0)
records = problem.records(rng.normal(size=(50, 3)), rng.choice([-1, 1], 50))
for steps in (10, 30_000):
    algorithm = NoisyGradientDescent(batch_size=2, steps=steps, step_size=0.1)
    algorithm.plan(problem, 50, 3, Budget(1.0, 1e-5)).run(records, progress=False)
    print("numba" in sys.modules)
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["False", "True"]


@pytest.mark.parametrize("way", [compiled_steps, plain_steps])
def test_an_interrupt_leaves_nothing(way: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem(LogisticRanking(), L2Ball(1.0))
    rng = np.random.default_rng(0)
    records = problem.records(rng.normal(size=(50, 3)), rng.choice([-1, 1], 50))
    plan = NoisyGradientDescent(batch_size=2, steps=20_000, step_size=0.1).plan(
        problem, 50, 3, Budget(1.0, 1e-5)
    )

    def interrupted(self: Progress, count: int, what: str, **_: Any) -> Any:
        yield 0
        raise KeyboardInterrupt

    monkeypatch.setattr(kernels, "take_steps", way)
    monkeypatch.setattr(Progress, "steps", interrupted)
    with pytest.raises(KeyboardInterrupt):
        plan.run(records)
    assert not np.any(records.x.flags.writeable)


def test_steps_that_leave_the_numbers_are_refused() -> None:
    problem = Problem(HingeRanking(), Unconstrained(), 1.0)
    rng = np.random.default_rng(0)
    records = problem.records(rng.normal(size=(50, 3)), rng.choice([-1, 1], 50))
    steps = Steps(problem, records, NoMechanism(), 1e10, 1000, 2, True)
    with pytest.raises(ValueError, match="take smaller ones"):
        compiled_steps(steps, NoiseSource(0), QUIET)


def test_progress_is_shown_by_blocks(capsys: pytest.CaptureFixture[str]) -> None:
    steps = setup(LogisticRanking(), 2, 20_000)
    compiled_steps(steps, NoiseSource(0), Progress(True))
    assert "noisy gradient descent" in capsys.readouterr().err
