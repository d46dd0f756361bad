"""Wang 2024 on tiny data: δ(ε) of the released iterate by exact enumeration of all draws."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

from pairdp import Budget, NoiseSource
from pairdp.algorithms import NoisyGradientDescent, Plan
from pairdp.constraints import Unconstrained
from pairdp.losses import (
    PairwiseLoss,
    PointwiseLoss,
)
from pairdp.pointwise_problem import PointwiseProblem
from pairdp.privacy import PrivacyCurve
from pairdp.problem import Problem
from tests.oracles.hockey_stick import divergence, normal


@dataclass(frozen=True)
class Products(PairwiseLoss):
    """yy'·w: the gradient of a pair does not depend on w, so that iterates are mixtures."""

    convex = True

    def value(self, parameters, x, y, other_x, other_y):
        return y * other_y * parameters[0]

    def gradient(self, parameters, x, y, other_x, other_y):
        return (y * other_y)[:, None] * np.ones((1, 1))

    def lipschitz(self, domain):
        return 1.0


@dataclass(frozen=True)
class Labels(PointwiseLoss):
    """y·w: the same for one record."""

    convex = True

    def value(self, parameters, x, y):
        return y * parameters[0]

    def gradient(self, parameters, x, y):
        return y[:, None] * np.ones((1, 1))

    def lipschitz(self, domain):
        return 1.0


def means(plan: Plan, y: np.ndarray) -> list[float]:
    """Return the gradient of every batch that a step may draw, each equally likely."""
    batch = plan.settings.batch_size
    if isinstance(plan.problem, PointwiseProblem):
        return [y[list(b)].mean() for b in itertools.combinations(range(y.size), batch)]
    found = []
    for rows in itertools.permutations(range(y.size), batch):
        pairs = list(itertools.permutations(rows, 2))
        if plan.settings.pairing == "disjoint":
            pairs = list(zip(rows[0::2], rows[1::2], strict=True))
        found.append(float(np.mean([y[i] * y[j] for i, j in pairs])))
    return found


CASES = {
    "pair of 3": (Products(), 3, 2, "disjoint"),
    "pair of 4": (Products(), 4, 2, "disjoint"),
    "three of 4": (Products(), 4, 3, "all"),
    "disjoint 4 of 4": (Products(), 4, 4, "disjoint"),
    "record of 2": (Labels(), 2, 1, "all"),
    "record of 4": (Labels(), 4, 1, "all"),
    "two records of 4": (Labels(), 4, 2, "all"),
}


def tiny(name: str, steps: int, output: Any = "last") -> Plan:
    loss, n, batch, pairing = CASES[name]
    kind = Problem if isinstance(loss, Products) else PointwiseProblem
    algorithm = NoisyGradientDescent(output, steps, 1.0, batch, pairing=pairing)
    return algorithm.plan(kind(loss, Unconstrained()), n, 1, Budget(1.0, 0.05))


def neighbours(n: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return all pairs of label vectors that differ in the first record, up to order."""
    found = []
    for positives in range(n):
        rest = [1.0] * positives + [-1.0] * (n - 1 - positives)
        one, other = np.array([1.0, *rest]), np.array([-1.0, *rest])
        found += [(one, other), (other, one)]
    return found


EPSILONS = (0.0, 0.5, 1.0, 2.0)


def certified(plan: Plan) -> list[float]:
    release = plan.certificate.releases[0]
    curve = PrivacyCurve(release.mechanism.event(release.count, release.sampling))
    return [curve.delta(eps) for eps in EPSILONS]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("steps", [1, 2, 3])
def test_certified_delta_covers_the_released_iterate(name: str, steps: int) -> None:
    # The last iterate is minus the sum of the noisy gradients: a mixture over all index draws.
    plan = tiny(name, steps)
    sigma = plan.certificate.releases[0].mechanism.scale * math.sqrt(steps)
    cell = 0.001
    grid = np.arange(-12, 12, cell)

    def density(y: np.ndarray) -> np.ndarray:
        centres: dict[float, float] = {0.0: 1.0}
        of_step = means(plan, y)
        for _ in range(steps):
            after: dict[float, float] = {}
            for centre, weight in centres.items():
                for mean in of_step:
                    key = round(centre + mean, 9)
                    after[key] = after.get(key, 0.0) + weight / len(of_step)
            centres = after
        return sum(w * normal(grid, c / sigma) for c, w in centres.items())

    exact = np.zeros(len(EPSILONS))
    for one, other in neighbours(CASES[name][1]):
        p, q = density(one), density(other)
        found = [divergence(p, q, math.exp(eps), cell) for eps in EPSILONS]
        exact = np.maximum(exact, found)
    bound = np.array(certified(plan))
    assert np.all(exact <= bound * (1 + 2e-6))  # the error of the integral
    assert np.min(bound / np.maximum(exact, 1e-12)) <= 3


@pytest.mark.parametrize("name", ["pair of 4", "record of 4", "three of 4"])
def test_certified_delta_is_that_of_two_noisy_gradients(name: str) -> None:
    # What is certified is all noisy gradients, of which two make a plane.
    plan = tiny(name, 2)
    sigma = plan.certificate.releases[0].mechanism.scale
    cell = 0.02
    grid = np.arange(-10, 10, cell)
    exact = np.zeros(len(EPSILONS))
    for one, other in neighbours(CASES[name][1]):
        lines = [
            np.mean([normal(grid, mean / sigma) for mean in means(plan, y)], axis=0)
            for y in (one, other)
        ]
        p, q = (np.outer(line, line) for line in lines)
        found = [divergence(p, q, math.exp(eps), cell**2) for eps in EPSILONS]
        exact = np.maximum(exact, found)
    bound = np.array(certified(plan))
    assert np.all(exact <= bound * (1 + 1e-4))  # the error of the integral
    np.testing.assert_allclose(exact, bound, rtol=0.15)


@pytest.mark.parametrize(
    "name",
    [
        "pair of 4",
        pytest.param("disjoint 4 of 4", marks=pytest.mark.slow),
        pytest.param("record of 4", marks=pytest.mark.slow),
    ],
)
def test_runs_have_the_enumerated_law(name: str) -> None:
    # Kolmogorov-Smirnov; a true law is refused with probability below 1e-6.
    plan = tiny(name, 2)
    y = np.array([1.0, -1.0, 1.0, 1.0])
    records = plan.problem.records(np.ones((4, 1)), y)
    runs = 4000
    found = np.sort(
        [plan.run(records, NoiseSource(s), progress=False).parameters[0] for s in range(runs)]
    )
    sigma = plan.certificate.releases[0].mechanism.scale * math.sqrt(2)
    centres = [-(a + b) for a, b in itertools.product(means(plan, y), repeat=2)]
    law = np.mean([ndtr((found - centre) / sigma) for centre in centres], axis=0)
    apart = np.abs(law - np.arange(1, runs + 1) / runs).max() + 1 / runs
    assert apart < math.sqrt(math.log(2 / 1e-6) / (2 * runs))
