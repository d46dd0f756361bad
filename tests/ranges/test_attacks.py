"""Attacks on private ranges: neighbours that move the counts most, and an audit of all counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pairdp import Budget, NoiseSource
from pairdp.audit import audit
from pairdp.privacy.mechanisms.additive_noise import GaussianMechanism, L1LaplaceMechanism
from pairdp.ranges.grids import count_values, decades, round_grid
from pairdp.ranges.planning import RangeEstimation, RangePlan

Array = NDArray[np.float64]
INTERESTING = np.array([np.nan, np.inf, 0.0, -0.0, 1e-7, 1.0, 5.0, 10.0, -3.0, 99.0, 1e300, -1e300])


class Recorded:
    """The values that a plan passes to its mechanisms, and what these return."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, noisy: Array | None = None) -> None:
        self.values: list[Array] = []
        self.noisy: list[Array] = []

        def release(mechanism: Any, value: Array, generator: np.random.Generator) -> Array:
            self.values.append(np.array(value))
            found = mechanism.add_to(value, mechanism.noise_integers(value.size, generator))
            self.noisy.append(found)
            return np.asarray(found)

        for kind in (GaussianMechanism, L1LaplaceMechanism):
            monkeypatch.setattr(kind, "release", release)

    def run(self, plan: RangePlan, columns: list[Array], seed: int) -> list[Array]:
        self.values.clear()
        self.noisy.clear()
        plan.run(columns, NoiseSource(seed))
        return list(self.values)


@pytest.mark.parametrize("budget", [Budget(1.0), Budget(0.05, 1e-3)])
@pytest.mark.parametrize("columns", [1, 5])
def test_no_replacement_moves_the_counts_by_more_than_stated(
    budget: Budget, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first counts, and later ones on the same grids; the largest change attains the bound."""
    rng = np.random.default_rng(0)
    n = 30
    estimation = RangeEstimation(tuple(f"x{j}" for j in range(columns)))
    plan = estimation.plan(n, budget)
    recorded = Recorded(monkeypatch)
    release = plan.certificate.releases[0]
    order = 1 if isinstance(release.mechanism, L1LaplaceMechanism) else 2
    worst = 0.0
    for trial in range(25):
        one = rng.choice(INTERESTING, (columns, n))
        other = one.copy()
        other[:, trial % n] = rng.choice(INTERESTING, columns)
        first, second = (recorded.run(plan, list(data), 1)[0] for data in (one, other))
        worst = max(worst, float(np.linalg.norm(first - second, ord=order)))
    zeros, ones = np.zeros((columns, n)), np.zeros((columns, n))
    ones[:, 0] = 1.0
    first, second = (recorded.run(plan, list(data), 1)[0] for data in (zeros, ones))
    worst = max(worst, float(np.linalg.norm(first - second, ord=order)))
    assert release.sensitivity is not None
    assert worst <= release.sensitivity.value
    assert worst > 0.999 * release.sensitivity.value


@pytest.mark.parametrize("edges", [decades(-6, 12), round_grid(-3.0, 7.0, 20)])
def test_a_record_is_in_one_count_of_any_grid(edges: Array) -> None:
    """So counts on a grid that earlier noisy counts chose have the same sensitivity."""
    for value in INTERESTING:
        counts = count_values(np.array([value]), edges)
        assert counts.sum() == 1
        assert set(counts) == {0.0, 1.0}


def test_what_is_returned_is_a_function_of_noisy_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two data sets with the same noisy counts have the same ranges."""
    plan = RangeEstimation(("a", "b")).plan(50, Budget(1.0))
    rng = np.random.default_rng(2)
    replayed: list[Array] = []

    def replay(mechanism: Any, value: Array, generator: np.random.Generator) -> Array:
        return replayed[len(seen) - 1] if seen.append(value.size) is None else value

    def draw(mechanism: Any, value: Array, generator: np.random.Generator) -> Array:
        noisy = mechanism.add_to(value, mechanism.noise_integers(value.size, generator))
        replayed.append(noisy)
        return np.asarray(noisy)

    monkeypatch.setattr(L1LaplaceMechanism, "release", draw)
    one = plan.run([rng.normal(size=50), rng.normal(size=50)], NoiseSource(4))
    seen: list[int] = []
    monkeypatch.setattr(L1LaplaceMechanism, "release", replay)
    other = plan.run([np.full(50, 1e9), np.full(50, np.nan)], NoiseSource(5))
    np.testing.assert_array_equal(one, other)


def test_each_stage_draws_its_own_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = RangeEstimation(("a",)).plan(20, Budget(1.0))
    recorded = Recorded(monkeypatch)
    recorded.run(plan, [np.zeros(20)], 0)
    noise = [noisy - value for noisy, value in zip(recorded.noisy, recorded.values, strict=True)]
    assert len(noise) == 3
    assert not np.allclose(noise[1][:10], noise[2][:10])


def all_counts(data: Array, seed: int, scale: float = 1.0) -> Array:
    """Return all noisy counts, and the ends of the ranges; ``scale`` is for too little noise."""
    found: list[Array] = []
    original = GaussianMechanism.release

    def release(mechanism: Any, value: Array, generator: np.random.Generator) -> Array:
        used = GaussianMechanism(
            mechanism.sensitivity, mechanism.scale * scale, mechanism.dimension
        )
        found.append(original(used, value, generator))
        return found[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(GaussianMechanism, "release", release)
        ends = PLAN.run([data] * 3, NoiseSource(seed))
    return np.concatenate([*found, ends.ravel()])


def with_little_noise(data: Array, seed: int) -> Array:
    return all_counts(data, seed, 1 / 25)


BUDGET = Budget(1.0, 1e-5)
PLAN = RangeEstimation(("x", "y", "z"), 0.9, -1, 1, 4).plan(40, BUDGET)
NEIGHBOURS = np.full(40, 5.0), np.append(np.full(39, 5.0), -5.0)


@pytest.mark.slow
def test_an_audit_finds_no_violation_and_finds_too_little_noise() -> None:
    """Confidence 1 - 1e-7 of each verdict; the attack is on the first counts."""
    first = [np.tile(count_values(data, decades(-1, 1)), 3) for data in NEIGHBOURS]
    direction = first[1] - first[0]
    for mechanism, verdict in (
        (all_counts, "consistent"),
        (with_little_noise, "violated"),
    ):
        report = audit(
            mechanism,
            *NEIGHBOURS,
            BUDGET,
            runs=200,
            confidence=1 - 1e-7,
            attack=lambda outputs: outputs[:, : direction.size] @ direction,
            gaussian=True,
        )
        assert report.verdict == verdict
