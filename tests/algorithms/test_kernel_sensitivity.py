"""One record moves a noisy step by what its certificate says, and no further."""

from __future__ import annotations

import itertools
import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pairdp import Budget
from pairdp.algorithms import NoisyGradientDescent, kernels
from pairdp.constraints import L2Ball
from pairdp.losses import (
    LeastSquaresPointwise,
    LogisticPointwise,
    RankingLoss,
)
from pairdp.pointwise_problem import PointwiseProblem
from pairdp.privacy import FixedSizeSampling
from pairdp.problem import Problem
from tests.algorithms.kernel_losses import LOSSES

pytest.importorskip("numba")


def gradient(
    loss: Any, w: np.ndarray, x: np.ndarray, y: np.ndarray, ordered: bool = False
) -> np.ndarray:
    """Return the gradient of one step that draws all these records, by the compiled code."""
    records = SimpleNamespace(x=x, y=y, evaluable=y)
    problem = SimpleNamespace(loss=loss)
    steps: Any = SimpleNamespace(
        problem=problem, records=records, batch_size=len(y), ordered=ordered
    )
    point, places = w.copy(), np.arange(len(y))[None, :]
    kernels._compiled(steps)(
        places, np.zeros((1, w.size)), 0.0, -1.0, 0.0, np.zeros(w.size), math.inf, point,
        np.zeros(w.size),
    )  # fmt: skip
    return point - w


def clipped(rng: np.random.Generator, count: int, norm: float) -> np.ndarray:
    rows = rng.normal(size=(count, 2))
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / length * norm * np.where(rng.random((count, 1)) < 0.6, 1.0, rng.random())


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("terms", [1, 3])
@pytest.mark.slow
def test_one_record_moves_a_step_by_what_is_certified(name: str, terms: int) -> None:
    loss, norm, radius = LOSSES[name], 1.5, 0.8
    paired = isinstance(loss, RankingLoss)
    problem = (Problem if paired else PointwiseProblem)(loss, L2Ball(radius), data_norm=norm)
    batch = 2 * terms if paired else terms
    plan = NoisyGradientDescent(
        batch_size=batch, steps=3, step_size=0.1, pairing="disjoint" if paired else "all"
    ).plan(problem, 50, 2, Budget(1.0, 1e-5))
    release = plan.certificate.releases[0]
    assert release.sensitivity is not None
    assert release.sampling == FixedSizeSampling(batch, 50)
    certified = release.sensitivity.value
    assert certified == pytest.approx(problem.record_diameter(batch) / batch)
    labels = [-1.0, 1.0] if not isinstance(loss, LeastSquaresPointwise) else [-2.0, 2.0]
    rng, worst = np.random.default_rng(2), 0.0
    e = np.array([norm, 0.0])
    staged = [
        (sign * radius * e / norm, np.array([own, partner]), np.array([other, partner]))
        for sign in (-1, 1)
        for own, partner, other in itertools.product((e, -e), repeat=3)
    ]
    for trial in range(400):
        y = rng.choice(labels, batch)
        x = clipped(rng, batch, norm)
        if trial < len(staged) * 4:
            w, first, second = staged[trial % len(staged)]
            x[: min(2, batch)], other = first[: min(2, batch)], second[0]
        else:
            w, other = clipped(rng, 1, radius)[0], clipped(rng, 1, norm)[0]
        for own, changed in itertools.product(labels, repeat=2):
            y[0] = own
            x2, y2 = x.copy(), y.copy()
            x2[0], y2[0] = other, changed
            apart = gradient(loss, w, x, y) - gradient(loss, w, x2, y2)
            worst = max(worst, float(np.linalg.norm(apart)))
    assert worst <= certified
    if not isinstance(loss, LogisticPointwise | LeastSquaresPointwise):
        assert worst >= 0.9 * certified  # theirs needs an angle that is searched for below


ONE_SIDED = [name for name, loss in LOSSES.items() if getattr(loss, "orders", 2) == 1]


@pytest.mark.parametrize("name", ["hinge", *ONE_SIDED])
@pytest.mark.parametrize("place", [0, 1])
def test_one_record_moves_an_ordered_pair_by_what_is_certified(name: str, place: int) -> None:
    loss, norm, radius = LOSSES[name], 1.5, 0.8
    problem = Problem(loss, L2Ball(radius), data_norm=norm)
    algorithm = NoisyGradientDescent(batch_size=2, steps=3, step_size=0.1, pairing="ordered")
    (release,) = algorithm.plan(problem, 50, 2, Budget(1.0, 1e-5)).certificate.releases
    certified, worst = release.sensitivity.value, 0.0
    assert certified == pytest.approx(problem.constants(50).pair_diameter)
    rng, e = np.random.default_rng(2), np.array([norm, 0.0])
    ends = [sign * e for sign in (-1, 1)]
    staged = list(itertools.product(ends, repeat=4))
    for trial in range(200):
        w, own, partner, other = staged[trial] if trial < len(staged) else (*clipped(rng, 4, norm),)
        w = w * radius / norm
        for one, two, theirs in itertools.product((-1.0, 1.0), repeat=3):
            x, y = np.array([own, partner]), np.array([one, theirs])
            x2, y2 = np.array([other, partner]), np.array([two, theirs])
            turn = slice(None, None, 1 if place == 0 else -1)
            apart = gradient(loss, w, x[turn], y[turn], True) - gradient(
                loss, w, x2[turn], y2[turn], True
            )
            worst = max(worst, float(np.linalg.norm(apart)))
    assert 0.9 * certified <= worst <= certified


@pytest.mark.parametrize("loss", [LogisticPointwise(0.7), LeastSquaresPointwise(2.0)])
def test_pointwise_bounds_are_reached(loss: Any) -> None:
    problem = PointwiseProblem(loss, L2Ball(0.8), data_norm=1.5)
    w, worst = np.array([0.8, 0.0]), 0.0
    label = loss.label_bound or 1.0
    for a in np.linspace(0, math.pi, 61):
        for b in np.linspace(-math.pi, 0, 61):
            rows = [1.5 * np.array([[math.cos(t), math.sin(t)]]) for t in (a, b)]
            found = [gradient(loss, w, row, np.array([label])) for row in rows]
            worst = max(worst, float(np.linalg.norm(found[0] - found[1])))
    assert 0.99 <= worst / problem.record_diameter(1) <= 1
