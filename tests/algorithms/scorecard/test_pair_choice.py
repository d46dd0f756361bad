"""The private choice of pairs: its gradient against a slow one, and attacks on its sensitivity."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from pairdp import NoiseSource, PrivateScorecard
from pairdp.algorithms.scorecard import NumberCells, Scorecard
from pairdp.algorithms.scorecard.descent import CLIP, LabelledBins
from pairdp.algorithms.scorecard.pair_choice import gradient_of_products, largest, pairs_of
from pairdp.constraints import Unconstrained
from pairdp.losses import LogisticPointwise
from pairdp.pointwise_problem import PointwiseProblem
from pairdp.privacy import Budget, Sensitivity
from tests.algorithms.attacks import drawn, moved, staged, with_null

PROBLEM = PointwiseProblem(LogisticPointwise(), Unconstrained(), data_norm=1.0)
N = 60


def _plan():  # type: ignore[no-untyped-def]
    columns = tuple(NumberCells(place, -1.0, 1.0) for place in (0, 1, 0))
    plan = Scorecard(columns, chosen=1).plan(PROBLEM, N, 2, Budget(80.0, 1e-3))
    assert "gradient of products" in [r.name for r in plan.certificate.releases]
    return plan


@pytest.mark.parametrize(
    ("features", "chosen", "message"),
    [
        (1, 1, "1 pairs cannot be chosen: 1 columns have 0"),
        (7, 22, "22 pairs cannot be chosen: 7 columns have 21"),
        (46, 1, "at most 45 columns, and there are 46: name the pairs"),
    ],
)
def test_pairs_that_cannot_be_chosen(features: int, chosen: int, message: str) -> None:
    model = PrivateScorecard(data_norm=1.0, interactions=chosen)
    with pytest.raises(ValueError, match=message):
        model.plan(1000, features)


def test_a_resolution_that_is_too_large_is_quoted() -> None:
    with pytest.raises(ValueError, match="at most 128, got 1000"):
        PrivateScorecard(data_norm=1.0, resolution=1000).plan(1000, 2)


def test_the_gradient_is_that_of_products_of_records() -> None:
    rng = np.random.default_rng(0)
    n, sizes = 5000, (4, 3, 6, 2)
    factors, points = ([rng.normal(size=size) * 2 for size in sizes] for _ in range(2))
    bins = np.array([rng.integers(0, size, n) for size in sizes], dtype=np.int16)
    records = LabelledBins(
        bins, (rng.random(n) < 0.4).astype(float), (rng.random(n) < 0.9).astype(float)
    )
    a = np.array([one[row] for one, row in zip(factors, bins, strict=True)])
    score = sum(one[row] for one, row in zip(points, bins, strict=True)) + 0.3
    products = np.array([a[i] * a[j] for i, j in pairs_of(4)]).T
    products /= np.maximum(np.linalg.norm(products, axis=1), np.sqrt(6))[:, None]
    terms = (expit(score) - records.positive)[:, None] * products
    terms *= CLIP / np.maximum(np.linalg.norm(terms, axis=1), CLIP)[:, None]
    found = gradient_of_products(factors, points, 0.3, records)
    np.testing.assert_allclose(found, records.counted @ terms, rtol=1e-10, atol=1e-10)


def test_the_largest_entries_are_chosen() -> None:
    assert largest(np.array([0.1, -3.0, 0.2, 2.0, 0.0, 1.0]), 4, 2) == ((0, 2), (1, 2))


def test_it_moves_as_far_as_certified_and_no_further() -> None:
    """Factors chosen by the attacker: two records with opposite products."""
    factors = [np.array([9.0, -9.0]), np.array([9.0, 9.0])]
    points = [np.zeros(2), np.zeros(2)]
    bound = Sensitivity.of(
        "mean of clipped gradients", clip=CLIP, n=N, width=1, amplification=1.0
    ).value
    rng = np.random.default_rng(0)
    bins = rng.integers(0, 2, (2, N)).astype(np.int16)
    worst = 0.0
    for old, new in np.ndindex(4, 4):
        means = []
        for place, label in (divmod(old, 2), divmod(new, 2)):
            moved_bins = bins.copy()
            moved_bins[0, 0] = place
            positive = np.zeros(N)
            positive[0] = label
            records = LabelledBins(moved_bins, positive, np.ones(N))
            means.append(gradient_of_products(factors, points, 0.0, records) / N)
        worst = max(worst, float(np.linalg.norm(means[0] - means[1])))
    assert 0.95 * bound < worst <= bound


def test_no_replacement_moves_the_release_of_a_plan_further() -> None:
    rng = np.random.default_rng(1)
    plan = _plan()
    names = [r.name for r in plan.certificate.releases for _ in range(r.count)]
    pairs = [(pair, 0.0) for pair in staged(N, 1.0, 0)]
    pairs += [(drawn(N, 1.0, 3, rng), kick) for kick in (0.0, 0.1)]
    pairs += [(pair, 0.0) for pair in with_null(N, 1.0, 5, rng, count=0)]
    found = [dict(zip(names, moved(plan, pair, kick), strict=True)) for pair, kick in pairs]
    assert max(max(one.values()) for one in found) <= 1
    assert max(one["gradient of products"] for one in found) > 0.3


def test_a_plan_without_its_choice_does_not_run_products() -> None:
    plan = Scorecard((NumberCells(0, -1.0, 1.0), NumberCells(1, -1.0, 1.0)), chosen=1).plan(
        PROBLEM, 400, 2, Budget(0.15, 1e-6)
    )
    assert "gradient of products" not in [r.name for r in plan.certificate.releases]
    rng = np.random.default_rng(2)
    records = PROBLEM.records(rng.uniform(-0.7, 0.7, (400, 2)), rng.choice([-1.0, 1.0], 400))
    assert plan.run(records, NoiseSource(0)).statistics["interactions"].size == 0


def test_one_kind_of_products_is_asked_for() -> None:
    with pytest.raises(ValueError, match="one of"):
        Scorecard(interactions=True, chosen=2)
    with pytest.raises(ValueError, match="one of"):
        replace(Scorecard(pairs=((0, 1),)), chosen=2)
    with pytest.raises(ValueError, match="not among"):
        Scorecard(pairs=((0, 5),)).plan(PROBLEM, N, 2, Budget(1.0, 1e-5))
