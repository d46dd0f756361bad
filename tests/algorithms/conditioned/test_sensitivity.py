"""Attacks on the sensitivities of a conditioned descent."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from pairdp import Budget, NoiseSource, Unit
from pairdp.algorithms import Plan
from pairdp.algorithms.conditioned import ConditionedDescent
from pairdp.algorithms.conditioned import descent as parts
from pairdp.algorithms.conditioned.descent import (
    CLIP,
    PAIR_CLIP,
    STEEPEST,
    ClippedRows,
    Descent,
    RowParts,
    Rows,
    clipped_rows,
)
from pairdp.algorithms.conditioned.features import Features
from pairdp.algorithms.conditioned.slopes import Slopes
from pairdp.algorithms.scorecard.descent import Whitening
from pairdp.constraints import L2Ball
from pairdp.losses import LeastSquaresPointwise, LogisticPointwise, LogisticRanking
from pairdp.pointwise_problem import PointwiseProblem
from pairdp.privacy import Sensitivity
from pairdp.problem import Problem
from tests.algorithms.attacks import Neighbours, drawn, moved, staged, tampered, with_null

RANKING = Problem(LogisticRanking(), L2Ball(1.0))
CLASSES = PointwiseProblem(LogisticPointwise(), L2Ball(10.0))
TARGETS = PointwiseProblem(LeastSquaresPointwise(0.7), L2Ball(10.0))
BUDGET, N = Budget(50.0, 1e-3), 40
PLANNED: dict[str, tuple[ConditionedDescent, Problem]] = {
    "logistic": (ConditionedDescent(), RANKING),
    "pairwise": (ConditionedDescent(gradient="pairwise"), RANKING),
    "scales": (ConditionedDescent(scaling="features"), RANKING),
    "additive": (ConditionedDescent("additive"), RANKING),
    "quadratic": (ConditionedDescent("quadratic"), RANKING),
    "classes": (ConditionedDescent(), CLASSES),
    "classes with an intercept": (ConditionedDescent(constant=0.3), CLASSES),
    "targets": (ConditionedDescent(), TARGETS),
}


def planned(name: str, n: int = N, unit: Unit | None = None) -> Plan:
    algorithm, problem = PLANNED[name]
    return algorithm.plan(problem, n, 2, BUDGET, unit=unit)


def neighbours(seed: int) -> Iterable[tuple[Neighbours, float]]:
    rng = np.random.default_rng(seed)
    yield from ((pair, 0.0) for pair in staged(N, 1.0, 0))
    x = np.tile([[0.1, 0.0], [-0.1, 0.0]], (N // 2, 1))  # about the origin, and one that turns
    x[0] = 1.0, 0.0
    yield Neighbours(x, np.resize([1.0, -1.0], N), 0, np.array([0.0, 1.0]), 1.0), 0.0
    yield Neighbours(x, np.resize([1.0, -1.0], N), 0, np.array([-1.0, 0.0]), 1.0), 0.0
    yield from ((drawn(N, 1.0, 3, rng), kick) for kick in (0.0, 0.1) for _ in range(3))
    yield from ((pair, 0.0) for pair in with_null(N, 1.0, 5, rng, count=0))


def shares(plan: Plan, seed: int = 0) -> dict[str, float]:
    """Return the largest share of its sensitivity that each release moved by."""
    names = [r.name for r in plan.certificate.releases for _ in range(r.count)]
    worst = dict.fromkeys(names, 0.0)
    for pair, kick in neighbours(seed):
        for name, share in zip(names, moved(plan, pair, kick), strict=True):
            worst[name] = max(worst[name], share)
    return worst


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name in ("additive", "quadratic")))
        for name in PLANNED
    ],
)
def test_no_replacement_moves_a_release_further_than_certified(name: str) -> None:
    worst = shares(planned(name))
    assert max(worst.values()) <= 1
    assert worst["counts of rows"] > 0.999
    if name in ("logistic", "pairwise", "scales"):
        assert worst["means of classes"] > 0.999
        assert worst["second moments of features"] > 0.95
    if name in ("logistic", "scales", "classes"):
        assert worst["clipped gradients"] > 0.95


def test_an_expansion_that_no_run_could_compute_with_is_refused() -> None:
    ConditionedDescent("quadratic").plan(RANKING, 1000, 69, BUDGET)
    with pytest.raises(
        ValueError, match="of 200 numbers has 21701 features, and there can be 3000"
    ):
        ConditionedDescent("quadratic").plan(RANKING, 1000, 200, BUDGET)
    assert ConditionedDescent("auto").plan(RANKING, 10**7, 200, BUDGET).settings.features == 1601


def test_smaller_bounds_are_found_out() -> None:
    worst = shares(tampered(planned("scales"), 0.98))
    assert min(worst.values()) > 1


def unit_rows(size: int) -> Features:
    """Return features that are the rows themselves, clipped to norm 1."""
    return Features("linear", np.zeros(size), np.ones(size), intercept=False)


def test_mean_squares_move_as_far_as_certified() -> None:
    found = []
    for first in ([5.0, 0.0], [0.0, -5.0]):
        x = np.tile([0.3, 0.4], (N, 1))
        x[0] = first
        rows = Rows.of(unit_rows(2), x, np.ones(N), np.ones(N))
        found.append(parts.mean_squares(RowParts.of(rows)))
    bound = Sensitivity.of("mean squares of clipped rows", largest=1.0, used=N).value
    assert 0.999 * bound < np.linalg.norm(found[0] - found[1]) <= bound


@pytest.mark.parametrize("slopes", [Slopes(LogisticPointwise()), None], ids=["records", "pairs"])
def test_gradients_move_as_far_as_certified(slopes: Slopes | None) -> None:
    """A record far out, opposite to all others, in coordinates that amplify rows."""
    ridge = 1e-6
    whitening = Whitening.of(np.diag([1e-6, 1e-6]), ridge)
    seen: list[np.ndarray] = []
    for first in (1.0, -1.0):
        x, y = np.tile([-9.0, 0.0], (N, 1)), np.full(N, -1.0)
        x[0, 0], y[0] = 9 * first, 1.0
        rows = Rows.of(unit_rows(2), x, y, np.ones(N))
        descent = Descent(RowParts.of(rows), whitening, slopes, 1.0)
        away = np.array([-3e4, 0.0]) if slopes is None else np.zeros(2)

        def release(mean: np.ndarray, _: int) -> np.ndarray:
            seen.append(mean)
            return np.zeros_like(mean)

        descent.run(away, 1, release, 0.0)
    bound = Sensitivity.of(
        "clipped gradients of rows" if slopes else "clipped gradients of pairs",
        clip=CLIP if slopes else PAIR_CLIP,
        used=N,
        width=2,
        amplification=0.5 / np.sqrt(ridge),
    ).value
    assert 0.95 * bound < np.linalg.norm(seen[0] - seen[1]) <= bound


def test_a_row_is_in_the_unit_ball_whatever_it_is() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 3)) * 10.0 ** rng.uniform(-8, 8, (500, 1))
    for expansion in ("linear", "additive", "quadratic"):
        for intercept in (True, False):
            features = Features(expansion, rng.normal(size=3), np.array([1e-6, 1, 1e3]), intercept)
            norms = np.linalg.norm(features.rows(x), axis=1)
            assert norms.max() <= 1 + 1e-12
            assert norms.max() > 0.999


def test_rounding_of_gradients_is_paid_for() -> None:
    """The computed mean against exact arithmetic, in badly conditioned coordinates."""
    rng = np.random.default_rng(0)
    n, d, ridge = 6000, 6, 1e-10
    x = rng.normal(size=(n, d)) * 10.0 ** -np.arange(d)
    rows = Rows.of(unit_rows(d), x, rng.choice([-1.0, 1.0], n), np.ones(n))
    whitening = Whitening.of(parts.second_moments(RowParts.of(rows)), ridge)
    clip = parts.clipped(rows, whitening, 1.0)
    some = ClippedRows(rows, clip)
    found = parts.sum_of_gradients(some, np.zeros(d), Slopes(LogisticPointwise())).high
    slopes = -rows.y
    lengths = np.abs(slopes) * clip.lengths
    slopes = slopes * (CLIP / np.maximum(lengths, CLIP)) * clip.factors
    exact = [
        sum(Fraction(c) * Fraction(v) for c, v in zip(slopes, column, strict=True))
        for column in rows.features.rows(x).T
    ]
    errors = np.array([float(Fraction(f) - e) for f, e in zip(found, exact, strict=True)]) / n
    moved_by = np.linalg.norm(whitening.matrix.T @ errors) / whitening.width
    amplification = 0.5 / np.sqrt(ridge)
    paid = Sensitivity.of(
        "clipped gradients of rows", clip=CLIP, used=n, width=d, amplification=amplification
    ).value
    assert 2 * moved_by <= paid - 2 * CLIP / n


def test_no_record_has_a_longer_row_than_rounding_is_paid_for() -> None:
    """A row that is short in wide coordinates, and a score far beyond all targets."""
    d = 400
    rows = Rows.of(unit_rows(d), np.eye(1, d), np.array([0.7]), np.ones(1))
    whitening = Whitening(np.eye(d), np.eye(d), 2 * np.sqrt(d))
    clip = parts.clipped(rows, whitening, 1.0)
    slopes = Slopes(LeastSquaresPointwise(0.7))
    for score in (-1e9, 1e9):
        some = ClippedRows(rows, clip)
        found = parts.sum_of_gradients(some, np.full(d, score), slopes).high
        assert np.linalg.norm(found) == pytest.approx(STEEPEST)
    gradients = planned("targets").certificate.releases[-1].sensitivity
    ridge = planned("targets").settings.ridge
    assert gradients is not None
    assert gradients.inputs["amplification"] == pytest.approx(STEEPEST * 0.5 / np.sqrt(ridge))


def test_sums_over_pairs_are_those_of_all_pairs() -> None:
    rng = np.random.default_rng(1)
    n, d = 50, 3
    rows = Rows.of(unit_rows(d), rng.normal(size=(n, d)), rng.choice([-1.0, 1.0], n), np.ones(n))
    rows.counted[7] = 0.0
    whitening = Whitening.of(np.eye(d) / d, 1e-3)
    clip = parts.clipped(rows, whitening, PAIR_CLIP)
    weights = rng.normal(size=d)
    of_parts = RowParts.of(rows)
    of_parts = replace(of_parts, parts=of_parts.parts.map(clipped_rows, whitening, PAIR_CLIP))
    found = parts.sum_over_pairs(of_parts, weights, 10.0)
    z = rows.features.rows(rows.x) * clip.factors[:, None]
    expected = np.zeros(d)
    for i in range(n):
        for j in range(n):
            if rows.y[i] > 0 > rows.y[j] and 7 not in (i, j):
                slope = -1 / (1 + np.exp((z[i] - z[j]) @ weights))
                expected += slope * (z[i] - z[j]) / (n - 1)
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_units_of_two_records_pay_for_both() -> None:
    both, one = planned("additive", unit=Unit("person", 2)), planned("additive")
    for double, single in zip(both.certificate.releases, one.certificate.releases, strict=True):
        assert double.sensitivity is not None
        assert single.sensitivity is not None
        assert double.sensitivity.value == pytest.approx(2 * single.sensitivity.value, rel=1e-3)


def test_scaling_of_features_decomposes_no_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(N, 2)) / 4
    monkeypatch.delattr(np.linalg, "eigh")
    fit = planned("scales").run(RANKING.records(x, np.sign(x[:, 0])), NoiseSource(0))
    assert np.isfinite(fit.parameters).all()
