"""Averages in blocks agree with the plain loop; designs keep the sensitivity of all pairs."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairdp.losses import (
    Domain,
    HingeMetric,
    HingeRanking,
    LeastSquaresRanking,
    LogisticMetric,
    LogisticRanking,
    PairwiseLoss,
    PowerHingeRanking,
)
from pairdp.pairs.blocked import design_gradient, design_value
from pairdp.pairs.design import PairDesign
from tests.oracles.all_pairs import average_gradient, average_value


def all_pairs_value(loss: PairwiseLoss, w: Any, X: Any, y: Any, **more: Any) -> float:
    return design_value(loss, w, X, y, PairDesign.complete(len(X)), **more)


def all_pairs_gradient(loss: PairwiseLoss, w: Any, X: Any, y: Any, **more: Any) -> Any:
    return design_gradient(loss, w, X, y, PairDesign.complete(len(X)), **more)


@dataclass(frozen=True)
class OneWay(PairwiseLoss):
    """A loss of one's own in which the two records play different roles."""

    convex = True

    symmetric = False

    def _score(self, w: np.ndarray, x: np.ndarray, y: np.ndarray, x2: np.ndarray) -> np.ndarray:
        return y * (x @ w) - 2 * (x2 @ w)

    def value(self, w, x, y, x2, y2):
        return self._score(w, x, y, x2) ** 2 + y2

    def gradient(self, w, x, y, x2, y2):
        return 2 * self._score(w, x, y, x2)[:, None] * (y[:, None] * x - 2 * x2)

    def lipschitz(self, domain: Domain) -> float:
        return 18 * domain.data_norm**2 * domain.radius


@dataclass(frozen=True)
class OwnMatrix(PairwiseLoss):
    """A symmetric loss of one's own with a matrix of parameters."""

    convex = True

    matrix = True
    binary = False

    def value(self, w, x, y, x2, y2):
        return np.einsum("ij,ki,kj->k", w, x + x2, x + x2) * (1 + (y == y2))

    def gradient(self, w, x, y, x2, y2):
        return np.einsum("ki,kj->kij", x + x2, x + x2) * (1 + (y == y2))[:, None, None]

    def lipschitz(self, domain: Domain) -> float:
        return 8 * domain.data_norm**2


@dataclass(frozen=True)
class ClippedRanking(LogisticRanking):
    """A ranking loss whose gradient is not slope times difference."""

    convex = True

    def gradient(self, parameters, x, y, other_x, other_y):
        return np.clip(super().gradient(parameters, x, y, other_x, other_y), -0.1, 0.1)


@dataclass(frozen=True)
class DoubledMetric(LogisticMetric):
    """A metric loss whose gradient is not slope times product."""

    convex = True

    def gradient(self, parameters, x, y, other_x, other_y):
        return 2 * super().gradient(parameters, x, y, other_x, other_y)


LOSSES: list[PairwiseLoss] = [
    LogisticRanking(),
    LogisticRanking(form="one-sided", temperature=0.2),
    LogisticRanking(temperature=1e-5),
    LogisticRanking(temperature=1e5),
    HingeRanking(form="one-sided"),
    HingeRanking(width=0.5),
    PowerHingeRanking(form="one-sided"),
    LeastSquaresRanking(),
    LogisticMetric(),
    LogisticMetric(temperature=0.01),
    HingeMetric(width=0.3),
    OneWay(),
    OwnMatrix(),
    ClippedRanking(form="one-sided"),
    DoubledMetric(),
]


def a_problem(
    loss: PairwiseLoss, n: int, d: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X = rng.standard_normal((n, d)) / np.sqrt(d)
    y = rng.choice([-1.0, 1.0], n) if loss.binary else rng.integers(0, 3, n)
    W = rng.standard_normal((d, d))
    return ((W + W.T) / 2 if loss.matrix else W[0]), X, y


def assert_close(actual: np.ndarray, expected: np.ndarray, loss: PairwiseLoss) -> None:
    steep = 1 + 1 / getattr(loss, "temperature", 1.0)
    np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=2e-14 * steep**2)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("n", [2, 3, 16, 17])
def test_all_pairs_agree_with_the_plain_loop(loss: PairwiseLoss, n: int) -> None:
    w, X, y = a_problem(loss, n, 3, np.random.default_rng(n))
    value, gradient = average_value(loss, w, X, y), average_gradient(loss, w, X, y)
    for block in (None, 1, 7, n - 1, n, 3 * n):
        assert all_pairs_value(loss, w, X, y, block=block) == pytest.approx(value, rel=1e-12)
        assert_close(all_pairs_gradient(loss, w, X, y, block=block), gradient, loss)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("labels", [1.0, -1.0])
def test_one_class_and_duplicates(loss: PairwiseLoss, labels: float) -> None:
    w, X, y = a_problem(loss, 12, 2, np.random.default_rng(3))
    X[4:8] = X[0]
    for y_kind in (y, np.full(12, labels)):
        value, gradient = average_value(loss, w, X, y_kind), average_gradient(loss, w, X, y_kind)
        assert all_pairs_value(loss, w, X, y_kind, block=5) == pytest.approx(value, rel=1e-12)
        assert_close(all_pairs_gradient(loss, w, X, y_kind, block=5), gradient, loss)


def plain_design(
    of_pairs: Callable[..., np.ndarray], w: np.ndarray, X: np.ndarray, y: np.ndarray, design
) -> np.ndarray:
    """Return the average over a design of both orders, pair by pair."""
    total: np.ndarray | float = 0.0
    for left, right in design.blocks(1):
        for i, j in ((left, right), (right, left)):
            total = total + of_pairs(w, X[i], y[i], X[j], y[j])[0] / 2
    return np.asarray(total / design.pairs)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 20),
    share=st.floats(0, 1),
    block=st.none() | st.integers(1, 30),
)
@settings(max_examples=12, deadline=None, derandomize=True)
def test_designs_agree_with_their_pairs(
    loss: PairwiseLoss, seed: int, n: int, share: float, block: int | None
) -> None:
    rng = np.random.default_rng(seed)
    m = max(1, round(share * (n - 1)))
    design = PairDesign.draw(n, m + (n * m) % 2, rng)
    w, X, y = a_problem(loss, n, 2, rng)
    value = plain_design(loss.value, w, X, y, design)
    gradient = plain_design(loss.gradient, w, X, y, design)
    assert design_value(loss, w, X, y, design, block=block) == pytest.approx(value, rel=1e-12)
    assert_close(design_gradient(loss, w, X, y, design, block=block), gradient, loss)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("n", [2, 9, 10])
def test_the_full_design_is_all_pairs(loss: PairwiseLoss, n: int) -> None:
    rng = np.random.default_rng(n)
    w, X, y = a_problem(loss, n, 3, rng)
    design = PairDesign.draw(n, n - 1, rng)
    expected = average_value(loss, w, X, y)
    assert design_value(loss, w, X, y, design) == pytest.approx(expected, rel=1e-12)
    assert_close(design_gradient(loss, w, X, y, design), average_gradient(loss, w, X, y), loss)


SENSITIVE: list[tuple[PairwiseLoss, Domain]] = [
    (LogisticRanking(), Domain(1.0, 2.0)),
    (LogisticRanking(form="one-sided"), Domain(0.5, 3.0)),
    (HingeRanking(), Domain(1.0, 1.0)),
    (HingeRanking(form="one-sided", width=0.5), Domain(2.0, 0.3)),
    (LeastSquaresRanking(), Domain(1.0, 1.0)),
    (PowerHingeRanking(), Domain(1.0, 1.0)),
    (LogisticMetric(), Domain(1.0, 1.0, positive_semidefinite=True)),
    (LogisticMetric(), Domain(1.0, 0.0)),
    (HingeMetric(), Domain(1.0, 1.0)),
    (HingeMetric(width=0.5), Domain(0.7, 1.0)),
    (OneWay(), Domain(1.0, 1.0)),
    (OwnMatrix(), Domain(1.0, 1.0)),
]


def in_ball(shape: tuple[int, ...], radius: float, rng: np.random.Generator) -> np.ndarray:
    """Return rows of norm at most the radius, half of them on the sphere."""
    rows = rng.standard_normal(shape)
    rows /= np.linalg.norm(rows, axis=-1, keepdims=True)
    return rows * radius * rng.choice([1.0, rng.uniform()], (*shape[:-1], 1))


def a_parameter(loss: PairwiseLoss, domain: Domain, d: int, rng: np.random.Generator) -> np.ndarray:
    if not loss.matrix:
        return in_ball((d,), domain.radius, rng)
    direction = in_ball((d,), 1.0, rng)
    W = np.outer(direction, direction)
    if not domain.positive_semidefinite:
        W *= rng.choice([-1.0, 1.0])
    return W * domain.radius / max(1.0, np.linalg.norm(W))


@pytest.mark.parametrize(("loss", "domain"), SENSITIVE, ids=repr)
def test_one_record_moves_a_design_by_no_more_than_all_pairs(
    loss: PairwiseLoss, domain: Domain
) -> None:
    rng = np.random.default_rng(0)
    n, d, R = 8, 2, domain.data_norm
    bound = loss.record_diameter(domain) / n
    assert bound == loss.sensitivity(domain, n)
    for attempt in range(250):
        design = PairDesign.draw(n, 1 + attempt % (n - 1), rng)
        X, y = in_ball((n, d), R, rng), rng.choice([-1.0, 1.0], n)
        changed_X, changed_y = X.copy(), y.copy()
        k = rng.integers(n)
        if attempt % 2:
            # The worst partner for all: every other record the same, opposite to this one.
            X[:], y[:] = -X[k], -y[k]
            X[k], y[k] = -X[k], -y[k]
            changed_X, changed_y = X.copy(), y.copy()
        changed_X[k] = X[k] if attempt % 4 == 1 else in_ball((d,), R, rng)
        changed_y[k] = -y[k]
        w = a_parameter(loss, domain, d, rng)
        before = design_gradient(loss, w, X, y, design)
        after = design_gradient(loss, w, changed_X, changed_y, design)
        assert np.linalg.norm(after - before) <= bound * (1 + 1e-12)


@pytest.mark.parametrize(
    ("loss", "domain", "weight"),
    [
        (LogisticRanking(), Domain(1.0, 2.0), -2.0),
        (LogisticRanking(form="one-sided"), Domain(0.5, 3.0), -3.0),
        (HingeRanking(), Domain(1.0, 1.0), 0.0),
        (HingeRanking(form="one-sided"), Domain(2.0, 1.0), 0.0),
        (LeastSquaresRanking(), Domain(1.0, 1.0), -1.0),
        (LogisticMetric(), Domain(1.0, 0.0), 0.0),
        (HingeMetric(temperature=0.5), Domain(3.0, 1.0), 0.0),
    ],
    ids=repr,
)
@pytest.mark.parametrize(("n", "m"), [(2, 1), (6, 1), (6, 4), (7, 2), (9, 8), (40, 3)])
def test_the_sensitivity_is_attained_for_every_m(
    loss: PairwiseLoss, domain: Domain, weight: float, n: int, m: int
) -> None:
    design = PairDesign.draw(n, m, np.random.default_rng(n + m))
    X, y = np.full((n, 1), -domain.data_norm), np.full(n, -1.0)
    X[0], y[0] = domain.data_norm, 1.0
    flipped = y.copy()
    flipped[0] = -1.0
    w = np.full((1, 1) if loss.matrix else (1,), weight)
    before, after = (design_gradient(loss, w, X, labels, design) for labels in (y, flipped))
    moved = float(np.linalg.norm(after - before))
    assert moved == pytest.approx(loss.record_diameter(domain) / n, rel=1e-12)


def test_a_design_that_favours_a_record_would_break_the_bound() -> None:
    # Not regular: the first record is in all n/2 pairs. The attack above must notice.
    class Star(PairDesign):
        pairs = 4

        def runs(self, size):
            for other in range(1, 5):
                yield slice(0, 1), slice(other, other + 1)

    loss, domain, n = HingeRanking(), Domain(1.0, 1.0), 8
    X, y = np.full((n, 1), -1.0), np.full(n, -1.0)
    X[0], y[0] = 1.0, 1.0
    star = Star(np.arange(n), (1,))
    moved = design_gradient(loss, np.zeros(1), X, y, star)
    moved = moved - design_gradient(loss, np.zeros(1), X, -np.ones(n), star)
    assert np.linalg.norm(moved) > 1.1 * loss.record_diameter(domain) / n


def peak_of(work: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("loss", [LogisticRanking(form="one-sided"), LogisticMetric()], ids=repr)
def test_a_large_design_takes_little_memory(loss: PairwiseLoss) -> None:
    n, d = 100_000, 10
    rng = np.random.default_rng(0)
    w, X, y = a_problem(loss, n, d, rng)
    design = PairDesign.draw(n, 8, rng)
    assert peak_of(lambda: design_gradient(loss, w, X, y, design)) < 2 * X.nbytes + 8e6
    assert peak_of(lambda: design_value(loss, w, X, y, design)) < 2 * X.nbytes + 8e6


@pytest.mark.parametrize("loss", [OneWay(), OwnMatrix()], ids=repr)
def test_gradients_of_pairs_are_held_in_blocks(loss: PairwiseLoss) -> None:
    n, d = 400, 20
    w, X, y = a_problem(loss, n, d, np.random.default_rng(0))
    assert peak_of(lambda: all_pairs_gradient(loss, w, X, y)) < 8e6
    assert peak_of(lambda: all_pairs_gradient(loss, w, X, y, block=20)) < 1e6


def test_inputs_are_left_alone() -> None:
    for loss in LOSSES:
        w, X, y = a_problem(loss, 10, 2, np.random.default_rng(0))
        for array in (w, X, y):
            array.flags.writeable = False
        all_pairs_value(loss, w, X, y)
        all_pairs_gradient(loss, w, X, y)


def test_refusals() -> None:
    loss, w, X, y = LogisticRanking(), np.zeros(2), np.zeros((4, 2)), np.ones(4)
    design = PairDesign.complete(4)
    for function in (all_pairs_value, all_pairs_gradient):
        with pytest.raises(ValueError, match="n must be at least 2"):
            function(loss, w, X[:1], y[:1])
        with pytest.raises(ValueError, match=r"y shape \(n,\), got \(4, 2\) and \(3,\)"):
            function(loss, w, X, y[:3])
        with pytest.raises(ValueError, match="block must be at least 1"):
            function(loss, w, X, y, block=0)
    for function in (design_value, design_gradient):
        with pytest.raises(ValueError, match="the design is for 4 records, got 3"):
            function(loss, w, X[:3], y[:3], design)
        with pytest.raises(ValueError, match="x must have shape"):
            function(loss, w, X[0], y, design)
