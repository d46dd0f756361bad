"""Attacks on the sensitivities of a scorecard."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from scipy.special import expit

from pairdp import NoiseSource
from pairdp.algorithms.scorecard import CategoryCells, NumberCells, Scorecard
from pairdp.algorithms.scorecard import descent as descent_module
from pairdp.algorithms.scorecard.descent import (
    CLIP,
    Gradients,
    LabelledBins,
    Whitening,
    descend,
)
from pairdp.algorithms.scorecard.expansion import Expansion
from pairdp.constraints import Unconstrained
from pairdp.losses import LeastSquaresPointwise, LogisticPointwise
from pairdp.pointwise_problem import PointwiseProblem
from pairdp.privacy import Budget, KNormMechanism, L1LaplaceMechanism, Sensitivity, Unit
from pairdp.privacy.mechanisms.noise_source import Stream
from tests.algorithms.attacks import (
    Neighbours,
    drawn,
    moved,
    staged,
    tampered,
    transcript,
    with_null,
)

PROBLEM = PointwiseProblem(LogisticPointwise(), Unconstrained(), data_norm=1.0)
N = 60
MANY = Budget(50.0, 1e-3)
"""So that weights are learned from few records."""


def _plan(  # type: ignore[no-untyped-def]
    interactions: bool = False, unit: Unit | None = None, resolution: int = 0
):
    columns = (NumberCells(0, -1.0, 1.0), NumberCells(1, -1.0, 1.0), CategoryCells((0,)))
    card = Scorecard(columns, interactions, resolution=resolution)
    plan = card.plan(PROBLEM, N, 2, MANY, unit=unit)
    assert plan.settings.steps is not None
    return plan


def _shares(plan, pairs):  # type: ignore[no-untyped-def]
    """Return the largest share of its sensitivity that each release moved by."""
    worst: dict[str, float] = {}
    names = [r.name for r in plan.certificate.releases for _ in range(r.count)]
    for pair, kick in pairs:
        for name, share in zip(names, moved(plan, pair, kick), strict=True):
            worst[name] = max(worst.get(name, 0.0), share)
    return worst


@pytest.mark.parametrize("resolution", [0, 64])
@pytest.mark.parametrize("interactions", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_no_replacement_moves_a_release_further_than_certified(
    interactions: bool, resolution: int
) -> None:
    rng = np.random.default_rng(0)
    pairs = [(pair, 0.0) for place in (0,) for pair in staged(N, 1.0, place)]
    pairs += [(drawn(N, 1.0, 3, rng), kick) for kick in (0.0, 0.1) for _ in range(2)]
    pairs += [(pair, 0.0) for pair in with_null(N, 1.0, 5, rng, count=0)]
    worst = _shares(_plan(interactions, resolution=resolution), pairs)
    assert max(worst.values()) <= 1
    assert worst["counts of cells"] > 0.999
    assert worst["labelled counts of bins"] > 0.999


@pytest.mark.parametrize("interactions", [False, True])
def test_a_part_of_the_records_moves_moments_and_gradients_no_further(interactions: bool) -> None:
    plan = _plan(interactions)
    # Moments are of places 0, 6, 12, ... and gradients of places 0, 3, 6, ...
    plan = replace(plan, settings=replace(plan.settings, sampled=10))
    rng = np.random.default_rng(1)
    for place in (0, 1, 6, 3):
        found = _shares(plan, [(drawn(N, 1.0, place, rng), 0.1)])
        assert max(found.values()) <= 1.0
        assert (found["second moments of features"] > 0) == (place % 6 == 0)
        assert (found["clipped gradients"] > 0) == (place % 3 == 0)


def test_second_moments_move_as_far_as_certified() -> None:
    """A table of features chosen by the attacker: two orthogonal rows beyond the radius."""
    expansion = Expansion((np.array([[9.0, 0.0], [0.0, 9.0]]),))
    bins = np.zeros((1, N), dtype=np.int16)
    other = bins.copy()
    other[0, 0] = 1
    ones = np.ones(N)
    change = np.subtract(
        *(
            descent_module.second_moments(expansion, LabelledBins(b, ones, ones)) / N
            for b in (bins, other)
        )
    )
    bound = Sensitivity.of("second moments of records", data_norm=1.0, n=N).value
    # The constant feature is shared, which leaves a little less than the bound.
    assert 0.95 * bound < np.linalg.norm(change) <= bound


def test_gradients_move_as_far_as_certified() -> None:
    """Two opposite rows, each the worst for its label, in coordinates that amplify them."""
    expansion = Expansion((np.array([[9.0], [-9.0]]),))
    whitening = Whitening.of(np.diag([1e-6, 1e-6]), 1e-6)
    first = np.zeros((1, N), dtype=np.int16)
    second = first.copy()
    second[0, 0] = 1
    seen: list[np.ndarray] = []
    for bins in (first, second):
        records = LabelledBins(bins, np.zeros(N), np.ones(N))
        descend(
            expansion,
            records.in_one_part(),
            whitening,
            np.zeros(2),
            0.5,
            0.0,
            1,
            lambda total, _: seen.append(total / N) or np.zeros_like(total),  # type: ignore[func-returns-value]
        )
    amplification = 0.5 / 1e-3
    bound = Sensitivity.of(
        "mean of clipped gradients", clip=CLIP, n=N, width=2, amplification=amplification
    ).value
    assert 0.95 * bound < np.linalg.norm(seen[0] - seen[1]) <= bound


def test_rounding_of_gradients_is_paid_for() -> None:
    """The mean of equal terms, of which one is replaced, against exact arithmetic."""
    rng = np.random.default_rng(0)
    n = 20_000
    table = rng.normal(size=(50, 6)) * 100
    expansion = Expansion((table,))
    moments = np.diag([1.0, 1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1.0])
    whitening = Whitening.of(moments, 1e-10)
    bins = rng.integers(0, 50, (1, n)).astype(np.int16)
    records = LabelledBins(bins, (rng.random(n) < 0.5).astype(float), np.ones(n))
    gradients = Gradients.of(expansion, records, whitening)
    scales, norms = gradients.scales, gradients.norms
    weights = rng.normal(size=7)
    found, _ = gradients.total(weights, np.zeros(0))
    rows = expansion.rows(bins).astype(np.longdouble)
    scores = (expansion.rows(bins) @ weights) * scales
    slopes = expit(scores) - records.positive
    lengths = np.abs(slopes) * norms
    slopes = slopes * (CLIP / np.maximum(lengths, CLIP) * scales)
    exact = (rows * slopes.astype(np.longdouble)[:, None]).sum(axis=0)
    error = float(np.linalg.norm(whitening.matrix.T @ (found - exact).astype(float)))
    error /= whitening.width * n
    paid = Sensitivity.of(
        "mean of clipped gradients", clip=CLIP, n=n, width=7, amplification=0.5 / 1e-5
    ).value
    plain = 2 * CLIP / n
    assert 2 * error <= paid - plain


def test_units_of_two_records_move_releases_twice_as_far() -> None:
    plan = _plan(unit=Unit("person", 2))
    single = _plan()
    for both, one in zip(plan.certificate.releases, single.certificate.releases, strict=True):
        assert both.sensitivity.value == pytest.approx(2 * one.sensitivity.value, rel=1e-6)


def test_pure_releases_move_as_far_as_certified() -> None:
    """In ℓ1 norm for counts, which have Laplace noise, and in ℓ2 norm for K-norm noise."""
    columns = (NumberCells(0, -1.0, 1.0), NumberCells(1, -1.0, 1.0))
    plan = Scorecard(columns).plan(PROBLEM, N, 2, Budget(4000.0))
    kinds = {type(one.mechanism) for one in plan.certificate.releases}
    assert kinds == {KNormMechanism, L1LaplaceMechanism}
    x, y = np.random.default_rng(0).uniform(-0.7, 0.7, (N, 2)), np.resize([1.0, -1.0], N)
    x[0] = -0.7, -0.7
    pair = Neighbours(x, y, 0, np.array([0.7, 0.7]), 1.0)
    rng = np.random.default_rng(0)
    pairs = [(pair, 0.0), (drawn(N, 1.0, 3, rng), 0.1)]
    pairs += [(pair, 0.0) for pair in staged(N, 1.0, 0)]
    worst = _shares(plan, pairs)
    assert max(worst.values()) <= 1
    assert worst["counts of cells"] > 0.999
    assert worst["labelled counts of bins"] > 0.999
    assert worst["clipped gradients"] > 0.95


@pytest.mark.parametrize(
    ("features", "n", "budget", "reason"),
    [
        (20, 125_000, Budget(1.0), "pure ε buys no products"),
        (20, 2500, Budget(1.5, 1e-6), "too small to learn products"),
        (31, 10**6, Budget(1.5, 1e-6), "no products of all of more than 30 columns"),
        (40, 400, Budget(1.0, 1e-6), "naive Bayes, and there are no products"),
    ],
)
def test_a_plan_says_why_there_are_no_products(
    features: int, n: int, budget: Budget, reason: str
) -> None:
    columns = tuple(NumberCells(place, -1.0, 1.0) for place in range(features))
    plan = Scorecard(columns, interactions=True).plan(PROBLEM, n, features, budget)
    assert any(reason in line for line in plan.reasons)


@pytest.mark.parametrize("asked", [{"pairs": ((0, 1), (0, 2))}, {"chosen": 2}])
def test_a_plan_warns_if_it_leaves_out_products_that_were_asked_for(asked: dict) -> None:  # type: ignore[type-arg]
    card = Scorecard(**asked)
    for n, budget, why in (
        (250, Budget(1.0, 1e-6), "too small; use a larger epsilon"),
        (125_000, Budget(1.0), "pure ε buys no products; use a delta above 0"),
    ):
        warnings = card.plan(PROBLEM, n, 20, budget).warnings
        assert any("the 2 products" in line and why in line for line in warnings)
    assert not card.plan(PROBLEM, 10**6, 20, Budget(1.0, 1e-6)).warnings
    assert not card.plan(PROBLEM, 2500, 20, None).warnings
    assert not Scorecard(interactions=True).plan(PROBLEM, 2500, 20, Budget(1.0, 1e-6)).warnings


def test_a_smaller_bound_is_found_out() -> None:
    plan = _plan()
    rng = np.random.default_rng(1)
    wrong = tampered(plan, 0.98)
    pairs = [(pair, 0.0) for pair in staged(N, 1.0, 0)] + [(drawn(N, 1.0, 3, rng), 0.0)]
    assert max(_shares(wrong, pairs).values()) > 1


def test_the_run_reads_records_through_its_mechanisms_only() -> None:
    """With what was released fixed, other records give the same model."""
    plan = _plan()
    rng = np.random.default_rng(2)
    x, y = rng.uniform(-0.7, 0.7, (N, 2)), rng.choice([-1.0, 1.0], N)
    pair = Neighbours(x, y, 0, -x[0], -y[0])
    first, second = (PROBLEM.records(*data) for data in pair.both())
    _, answers, model = transcript(plan, first, 0.1)
    _, _, same = transcript(plan, second, 0.1, answers)
    np.testing.assert_array_equal(model, same)


def test_the_wrong_losses_are_refused() -> None:
    problem = PointwiseProblem(LeastSquaresPointwise(), Unconstrained())
    with pytest.raises(ValueError, match="two classes"):
        Scorecard().plan(problem, N, 2, MANY)
    with pytest.raises(ValueError, match="features"):
        Scorecard((NumberCells(2, -1.0, 1.0),)).plan(PROBLEM, N, 2, MANY)
    with pytest.raises(TypeError, match="NumberCells"):
        Scorecard(("age",))  # type: ignore[arg-type]


def test_no_float_noise_is_drawn() -> None:
    plan = _plan()
    rng = np.random.default_rng(3)
    records = PROBLEM.records(rng.uniform(-0.7, 0.7, (N, 2)), rng.choice([-1.0, 1.0], N))

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("float noise")

    with (
        patch.object(Stream, "normal", refuse, create=True),
        patch.object(Stream, "random", refuse, create=True),
    ):
        plan.run(records, NoiseSource(1))
