"""Attacks on the last bits of releases: floats of different sizes must leave no trace.

With float noise, a sum v + z of doubles is a multiple of the last place of the larger one. With
v = 0 under D and v = c under D', "a small output that is not a multiple of ulp(c/2)" never happens
under D', and under D with a probability of up to 0.7, whatever ε and δ are. On a grid, both have
outputs in the same set, with probabilities that ε and δ bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from pairdp import Budget, NoiseSource, PrivateRanker
from pairdp.algorithms import (
    Algorithm,
    EpochGradientDescent,
    GradientDescent,
    NoisyGradientDescent,
    PhasedSGD,
    StreamGradientDescent,
)
from pairdp.constraints import L2Ball, Unconstrained
from pairdp.losses import Domain, LogisticRanking
from pairdp.online import OnlineDescent
from pairdp.privacy import (
    GaussianEvent,
    GaussianMechanism,
    KNormMechanism,
    LaplaceMechanism,
    Mechanism,
)
from pairdp.problem import Problem

FALSE_ALARM = 1e-7


def mechanisms(epsilon: float, dimension: int) -> dict[str, Mechanism]:
    return {
        "gaussian": GaussianMechanism.calibrate(Budget(epsilon, 1e-6), 1.0, dimension=dimension),
        "k-norm": KNormMechanism.calibrate(Budget(epsilon), 1.0, dimension=dimension),
        "laplace": LaplaceMechanism.calibrate(Budget(epsilon), 1.0, dimension=dimension),
    }


def last_place(value: float) -> float:
    return math.ulp(value / 2)


def small_off_multiples(outputs: np.ndarray, c: float) -> float:
    """Return how often some output below c/2 is not a multiple of ulp(c/2)."""
    steps = outputs / last_place(c)
    off = (np.abs(outputs) < c / 2) & (steps != np.rint(steps))
    return float(off.any(axis=1).mean())


@pytest.mark.parametrize("kind", ["gaussian", "k-norm", "laplace"])
@pytest.mark.parametrize("dimension", [1, 30])
def test_small_outputs_tell_nothing_of_the_value(kind: str, dimension: int) -> None:
    mechanism = mechanisms(1.0, dimension)[kind]
    c = 1.0
    neighbour = np.zeros(dimension)
    neighbour[0] = c
    generator = NoiseSource(31).stream("noise")
    runs = 1000 if dimension == 1 else 200
    outputs = [
        np.array([mechanism.release(value, generator) for _ in range(runs)])
        for value in (np.zeros(dimension), neighbour)
    ]
    assert [small_off_multiples(found, c) for found in outputs] == [0.0, 0.0]
    for found in outputs:
        assert np.array_equal(np.rint(found / mechanism.grid) * mechanism.grid, found)
    # The same event with noise in floating point, which shows that the attack is one.
    floats = NoiseSource(32).stream("noise").normal(0, mechanism.scale, (runs, dimension))
    assert small_off_multiples(floats, c) > 0.01
    assert small_off_multiples((neighbour + floats)[:, :1], c) == 0.0


@pytest.mark.parametrize("bits", [1, 8])
def test_low_bits_have_the_same_law_under_neighbours(bits: int) -> None:
    """The last bits of the released integers, under values with very different last bits."""
    mechanism = GaussianMechanism.calibrate(Budget(1.0, 1e-6), 1.0)
    generator = NoiseSource(33).stream("noise")
    size, cells = 1_000_000, 2**bits
    counts = []
    for value in (0.0, 1 / 3, 1.0, 2.0**-30 + 2.0**-60):
        released = mechanism.add_to(np.full(size, value), mechanism.noise_integers(size, generator))
        steps = np.rint(released / mechanism.grid).astype(np.int64)
        counts.append(np.bincount(steps & (cells - 1), minlength=cells))
        # With a grid so much finer than the noise, every residue is as likely as any other.
        assert stats.chisquare(counts[-1]).pvalue > FALSE_ALARM
    assert stats.chi2_contingency(np.array(counts)).pvalue > FALSE_ALARM


@pytest.mark.parametrize(
    ("kind", "delta", "size"),
    [
        (GaussianMechanism, 1e-3, 1_000_000),
        pytest.param(LaplaceMechanism, 0.0, 200_000, marks=pytest.mark.slow),
    ],
)
def test_no_event_separates_neighbours_beyond_the_guarantee(
    kind: type[GaussianMechanism | LaplaceMechanism], delta: float, size: int
) -> None:
    """On thresholds and on the last bits together.

    By Clopper and Pearson, each of 2·64·16 events exceeds its bound with a probability of at most
    1e-10, so that a false alarm has one of less than 1e-6.
    """
    epsilon = 0.5
    mechanism = kind.calibrate(Budget(epsilon, delta), 1.0)
    generator = NoiseSource(34).stream("noise")
    steps = [
        np.rint(
            mechanism.add_to(np.full(size, value), mechanism.noise_integers(size, generator))
            / mechanism.grid
        ).astype(np.int64)
        for value in (0.0, 1.0)
    ]
    edges = np.quantile(steps[0], np.linspace(0, 1, 65)[1:-1])
    # How many are below each edge, by their last four bits.
    below = [
        np.histogram2d(side, side & 15, [np.append(-np.inf, edges), np.arange(17)])[0].cumsum(0)
        for side in steps
    ]
    for first, second in (below, below[::-1]):
        low = np.nan_to_num(stats.beta.ppf(1e-10, first, size - first + 1))
        high = stats.beta.ppf(1 - 1e-10, second + 1, size - second)
        assert np.all(low <= math.exp(epsilon) * high + delta)


def test_a_coarse_grid_has_exactly_the_probabilities_that_the_bound_allows() -> None:
    """On a grid as coarse as the noise, every probability is known: none exceeds the guarantee."""
    mechanism = GaussianMechanism(1.0, 2.0, 1, grid=1.0)
    # A value that moves by 1 may be rounded to one that is 2 steps away: Δ + g.
    assert mechanism.rounded_sensitivity >= 2.0
    mu = mechanism.rounded_sensitivity / mechanism.scale
    cells = np.arange(-60, 61)
    probabilities = [
        stats.norm.cdf((cells + 0.5 - value) / 2) - stats.norm.cdf((cells - 0.5 - value) / 2)
        for value in (0, 2)
    ]
    for epsilon in (0.1, 0.5, 1.0, 2.0):
        delta = np.maximum(probabilities[0] - math.exp(epsilon) * probabilities[1], 0).sum()
        allowed = stats.norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * stats.norm.cdf(
            -mu / 2 - epsilon / mu
        )
        assert delta <= allowed * (1 + 1e-9)
        # Without paying for the rounding the claim would be false.
        unpaid = mechanism.sensitivity / mechanism.scale
        claimed = stats.norm.cdf(unpaid / 2 - epsilon / unpaid) - math.exp(
            epsilon
        ) * stats.norm.cdf(-unpaid / 2 - epsilon / unpaid)
        assert delta > claimed
    released = mechanism.release(np.array([0.5 + 1e-12]), NoiseSource(35).stream("noise"))
    assert released == np.rint(released)


@pytest.mark.parametrize("kind", [KNormMechanism, LaplaceMechanism])
def test_a_coarse_grid_attains_the_epsilon_that_is_paid(
    kind: type[KNormMechanism | LaplaceMechanism],
) -> None:
    """The value moves by 1 and its rounding by 2: a cell far away shows all of it, and no more."""
    mechanism = kind(1.0, 3.0, 1, grid=1.0)
    law = stats.laplace(scale=3.0)
    cells = np.arange(-30, 1)
    here, there = (law.cdf(cells + 0.5 - value) - law.cdf(cells - 0.5 - value) for value in (0, 2))
    epsilon = float(np.log(here / there).max())
    assert epsilon == pytest.approx(mechanism.event().epsilon, rel=1e-9)
    assert epsilon > 1.9 * mechanism.sensitivity / mechanism.scale, "the rounding was not paid"
    generator = NoiseSource(37).stream("noise")
    moved = [mechanism.add_to(np.array([v]), np.array([0])) for v in (0.49, 1.51)]
    assert moved[1] - moved[0] == 2.0
    released = [mechanism.release(np.array([0.4]), generator)[0] for _ in range(3000)]
    counts = np.histogram(released, np.arange(-6, 8) - 0.5)[0]
    expected = 3000 * np.diff(law.cdf(np.arange(-6, 8) - 0.5))
    rest = [3000 - counts.sum()], [3000 - expected.sum()]
    found = stats.chisquare(np.append(counts, rest[0]), np.append(expected, rest[1]))
    assert found.pvalue > FALSE_ALARM


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_fitted_coefficients_are_on_the_grid_for_every_data_set(delta: float) -> None:
    """The attack through a ranker with d = 30: coefficients are multiples of a public number.

    Under D the last feature is zero in all records, so that its coefficient is zero before noise;
    under D' it is not. The ball is so large that nothing is projected.
    """
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    x = (rng.normal(size=(200, 30)) + y[:, None]) / 30
    x[:, -1] = 0.0
    neighbour = x.copy()
    neighbour[0, -1] = 0.5
    for table in (x, neighbour):
        for seed in range(4):
            model = PrivateRanker(
                epsilon=1.0,
                delta=delta,
                data_norm=1.0,
                algorithm=GradientDescent("last"),
                regularization=0.1,
                radius=1e6,
                threshold=0.0,
                random_state=seed,
            ).fit(table, y)
            (release,) = model.certificate_.releases
            steps = model.coef_ / release.mechanism.grid
            assert np.array_equal(steps, np.rint(steps))
            assert release.mechanism.rounding <= 2.0**-20 * release.mechanism.sensitivity


def test_two_records_hide_no_iterates() -> None:
    """Their steps use one pair, whose noise is on the grid of gradients: all of them are paid."""
    problem = Problem(LogisticRanking(), L2Ball(1.0), regularization=2.0)
    plan = NoisyGradientDescent("last", steps=2, step_size=0.3).plan(
        problem, 2, 2, Budget(1.0, 1e-2)
    )
    (release,) = plan.certificate.releases
    assert release.count == 2
    assert release.sensitivity.bound == "average over pairs"


def test_unbounded_points_hide_no_iterates() -> None:
    """The rounding errors of their steps have no bound."""
    plans = [
        NoisyGradientDescent("last", steps=50, step_size=0.3).plan(
            Problem(LogisticRanking(), constraint, regularization=1.0), 200, 2, Budget(1.0, 1e-6)
        )
        for constraint in (L2Ball(1.0), Unconstrained())
    ]
    assert [plan.certificate.releases[0].count for plan in plans] == [1, 50]


@pytest.mark.parametrize(
    "algorithm",
    [
        PhasedSGD(step_size=1e-4),
        EpochGradientDescent(step_size=1e-4),
        StreamGradientDescent(),
        OnlineDescent(noise="models"),
    ],
)
def test_the_rounding_of_steps_is_paid_for_on_unbounded_sets(algorithm: Algorithm) -> None:
    """As much as on a ball that holds all iterates, up to the factor between the two radii."""
    regularization, n = 0.1, 10**6
    if isinstance(algorithm, StreamGradientDescent | OnlineDescent):
        n = 2000
    reach = 2 * LogisticRanking().lipschitz(Domain(1.0, math.inf)) / regularization

    def paid(constraint: L2Ball | Unconstrained) -> float:
        problem = Problem(LogisticRanking(), constraint, regularization)
        plan = algorithm.plan(problem, n, 2, Budget(1.0, 1e-6))
        inputs = plan.certificate.releases[0].sensitivity.inputs
        exact = problem.exact_record_diameter(problem.domain())
        return inputs.get("rounding", inputs.get("record_diameter", exact) - exact)

    unbounded, bounded = paid(Unconstrained()), paid(L2Ball(reach))
    assert bounded / 5 <= unbounded <= 2 * bounded


def unless_refused(make: Callable[[], Mechanism]) -> Mechanism | None:
    """Return a mechanism, or None where the budget is told to be too small."""
    try:
        return make()
    except ValueError as error:
        if "use a larger epsilon" not in str(error):
            raise
        return None


@pytest.mark.parametrize("dimension", [1, 5, 100, 10**5])
@pytest.mark.parametrize("epsilon", [1e-15, 1e-12, 1e-9, 1e-6])
def test_tiny_budgets_are_kept_or_refused(epsilon: float, dimension: int) -> None:
    """Where noise hardly fits into the integers, its grid is coarse, and rounding is paid."""
    for make in (
        lambda: KNormMechanism.calibrate(Budget(epsilon), 0.3, dimension=dimension),
        lambda: KNormMechanism.for_epsilon(epsilon, 0.3, dimension),
        lambda: LaplaceMechanism.calibrate(Budget(epsilon), 0.3, dimension=dimension),
        lambda: GaussianMechanism.for_mu(epsilon, 0.3, dimension),
    ):
        mechanism = unless_refused(make)
        if mechanism is None:
            assert epsilon < 4 * dimension * 2.0**-50
            continue
        event = mechanism.event()
        assert (event.mu if isinstance(event, GaussianEvent) else event.epsilon) <= epsilon
        assert mechanism.rounding <= mechanism.sensitivity


def test_a_last_iterate_keeps_no_low_bits_of_hidden_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every iterate is rounded to the grid of points before it gets noise, and then lies on it.

    With noise on gradients alone, the last iterate would lie on the grid shifted by the one before,
    which the regulariser and the projection take off the grid.
    """
    problem = Problem(LogisticRanking(), L2Ball(100.0), regularization=0.3)
    algorithm = NoisyGradientDescent("last", steps=30)
    plan = algorithm.plan(problem, 200, 3, Budget(1.0, 1e-6))
    (release,) = plan.certificate.releases
    assert release.name == "last iterate"
    at_point = release.mechanism.in_units(plan.settings.step_size)
    assert at_point.grid <= release.mechanism.grid * plan.settings.step_size
    # Two roundings of d coordinates at each of T steps are paid for.
    needed = 2 * release.mechanism.grid * math.sqrt(3 * 30)
    assert release.mechanism.rounded_sensitivity >= release.sensitivity.value + needed
    rng = np.random.default_rng(0)
    records = problem.records(rng.normal(size=(200, 3)) / 3, rng.choice([-1, 1], 200))
    projected = []
    original = L2Ball.project

    def project(ball: L2Ball, point: np.ndarray) -> np.ndarray:
        projected.append(point.copy())
        return original(ball, point)

    monkeypatch.setattr(L2Ball, "project", project)
    plan.run(records, NoiseSource(36))
    steps = np.array(projected[-30:]) / at_point.grid
    assert np.array_equal(steps, np.rint(steps))
