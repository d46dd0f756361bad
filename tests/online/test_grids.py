"""What leaves a stream of gradients or models is on a grid, whose rounding is paid for jointly."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest

from pairdp import Budget, NoiseSource
from pairdp.algorithms import Plan
from pairdp.constraints import L2Ball, PSDFrobeniusBall
from pairdp.losses import LogisticMetric, LogisticRanking
from pairdp.online import OnlineDescent
from pairdp.privacy import GaussianMechanism
from pairdp.privacy.mechanisms.lattice import to_grid
from pairdp.problem import Problem
from tests.algorithms.attacks import Neighbours, drawn, staged

N = 20
BUDGET = Budget(1.0, 1e-5)
PROBLEMS = {
    "ranking": Problem(LogisticRanking(), L2Ball(1.0)),
    "metric": Problem(LogisticMetric(), PSDFrobeniusBall(1.0)),
}
READINGS = [
    {"noise": "gradients"},
    {"noise": "gradients", "batch_size": 3, "buffer": 4},
    {"noise": "models"},
    {"noise": "models", "batch_size": 3, "buffer": 4, "replacement": "reservoir"},
]


def planned(problem: str, reading: dict[str, object]) -> Plan:
    return OnlineDescent(**reading).plan(PROBLEMS[problem], N, 2, BUDGET)  # type: ignore[arg-type]


def rounded(plan: Plan, pair: Neighbours) -> list[np.ndarray]:
    """Return, for both, the rounded values of all steps in units of the plan's noise."""
    scale = plan.certificate.releases[0].mechanism.scale
    found = []
    for x, y in pair.both():
        rows: list[np.ndarray] = []

        def add_to(
            mechanism: GaussianMechanism,
            vector: np.ndarray,
            noise: np.ndarray,
            rows: list[np.ndarray] = rows,
        ) -> np.ndarray:
            unit = mechanism.scale / scale
            rows.append(to_grid(vector, mechanism.grid) * (mechanism.grid / unit))
            return noise * mechanism.grid  # the same for both neighbours

        with patch.object(GaussianMechanism, "add_to", add_to):
            plan.run(plan.problem.records(x, y), NoiseSource(0), progress=False)
        found.append(np.concatenate(rows))
    return found


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("reading", READINGS, ids=str)
def test_every_released_value_is_on_a_grid_that_is_paid_for(
    problem: str, reading: dict[str, object]
) -> None:
    plan = planned(problem, reading)
    (release,) = plan.certificate.releases
    whole = release.mechanism
    add_to, square, count = GaussianMechanism.add_to, 0.0, 0

    def checked(mechanism: GaussianMechanism, vector: np.ndarray, noise: np.ndarray) -> np.ndarray:
        nonlocal square, count
        left = add_to(mechanism, vector, noise)
        steps = left / mechanism.grid
        np.testing.assert_array_equal(steps, np.rint(steps))
        in_units = mechanism.grid * whole.scale / mechanism.scale
        square += vector.size * in_units**2
        count += vector.size
        return left

    rng = np.random.default_rng(0)
    records = plan.problem.records(rng.normal(size=(N, 2)) / 3, rng.choice([-1, 1], N))
    with patch.object(GaussianMechanism, "add_to", checked):
        plan.run(records, NoiseSource(0), progress=False)
    assert 0 < count <= whole.dimension == release.dimension
    assert square**0.5 <= whole.rounding


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("reading", READINGS, ids=str)
@pytest.mark.parametrize("place", [0, 11])
def test_no_neighbour_moves_the_rounded_values_further(
    problem: str, reading: dict[str, object], place: int
) -> None:
    plan = planned(problem, reading)
    whole, rng = plan.certificate.releases[0].mechanism, np.random.default_rng(place)
    for pair in (*staged(N, 1.0, place), drawn(N, 1.0, place, rng)):
        one, other = rounded(plan, pair)
        assert np.linalg.norm(one - other) <= whole.rounded_sensitivity


@pytest.mark.parametrize("epsilon", [1e-7, 3e-10, 1e-12])
def test_models_with_huge_noise_have_a_grid_in_every_unit(epsilon: float) -> None:
    plan = OnlineDescent(noise="models").plan(PROBLEMS["ranking"], N, 2, Budget(epsilon, 1e-12))
    records = plan.problem.records(np.ones((N, 2)) / 2, [1, -1] * (N // 2))
    assert np.all(np.isfinite(plan.run(records, NoiseSource(0)).parameters))
