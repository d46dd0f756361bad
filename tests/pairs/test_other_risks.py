"""Risks of bilinear similarity and of minimum error entropy against the plain loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pairdp.constraints import FrobeniusBall, L2Ball
from pairdp.losses import (
    BilinearSimilarity,
    HingePointwise,
    LeastSquaresPointwise,
    MinimumErrorEntropy,
    PairwiseLoss,
)
from pairdp.pairs import ACCURACY, risk, similarity
from pairdp.pairs.error_entropy import ErrorEntropyRisk
from pairdp.pairs.risk import DesignRisk
from pairdp.pairs.similarity import SimilarityRisk
from pairdp.problem import Problem
from pairdp.score_sums.sparse_pieces import SparseSums
from tests.oracles.all_pairs import average_gradient, average_value

LOSSES: list[tuple[PairwiseLoss, type]] = [
    (BilinearSimilarity(), SimilarityRisk),
    (BilinearSimilarity(HingePointwise()), SimilarityRisk),
    (BilinearSimilarity(LeastSquaresPointwise()), SimilarityRisk),
    (MinimumErrorEntropy(), ErrorEntropyRisk),
    (MinimumErrorEntropy(0.05), ErrorEntropyRisk),
    (MinimumErrorEntropy(1e-4), ErrorEntropyRisk),
]


def problem_of(loss: PairwiseLoss, n: int) -> tuple[Problem, Any, Any, Any]:
    """Return a problem with data and a parameter on its boundary."""
    rng = np.random.default_rng(0)
    w: Any = rng.normal(size=(3, 3)) if loss.matrix else rng.normal(size=3)
    w = w + w.T if loss.matrix else w
    problem = Problem(loss, FrobeniusBall(1.0) if loss.matrix else L2Ball(1.0))
    x = rng.normal(size=(n, 3)) / 3
    y = rng.integers(0, 3, n) if loss.matrix else x @ w + 0.1 * rng.normal(size=n)
    return problem, x, y, w / np.linalg.norm(w)


@pytest.mark.parametrize(("loss", "kind"), LOSSES, ids=lambda item: repr(item)[:60])
@pytest.mark.parametrize("n", [2, 3, 37])
def test_value_and_gradient_are_those_of_all_pairs(
    loss: PairwiseLoss, kind: type, n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(similarity, "_TILE", 8)  # several tiles, the last ones smaller
    problem, x, y, w = problem_of(loss, n)
    records = problem.records(x, y)
    found = risk(loss, records)
    assert isinstance(found, kind)
    value, gradient = found.value_and_gradient(w)
    assert value == pytest.approx(average_value(loss, w, records.x, records.y), rel=1e-11)
    allowed = 0.1 * ACCURACY * problem.constants(n).lipschitz
    expected = average_gradient(loss, w, records.x, records.y)
    np.testing.assert_allclose(gradient, expected, rtol=0, atol=allowed)


@pytest.mark.parametrize(("loss", "kind"), LOSSES[::3], ids=lambda item: repr(item)[:60])
def test_null_records_count_with_zero(loss: PairwiseLoss, kind: type) -> None:
    problem, x, y, w = problem_of(loss, 30)
    x[3], x[17] = np.nan, np.inf
    records = problem.records(x, y, invalid="null")
    kept, share = ~records.null, 28 * 27 / (30 * 29)
    found = risk(loss, records)
    expected = average_value(loss, w, records.x[kept], records.y[kept]) * share
    assert found.value(w) == pytest.approx(expected, rel=1e-11)
    expected = average_gradient(loss, w, records.x[kept], records.y[kept]) * share
    np.testing.assert_allclose(found.gradient(w), expected, rtol=1e-9, atol=1e-12)
    nothing = problem.records(x * np.nan, y, invalid="null")
    assert risk(loss, nothing).value(w) == 0
    assert not risk(loss, nothing).gradient(w).any()


def test_errors_far_apart_use_sparse_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    used = []
    original = SparseSums.moments
    monkeypatch.setattr(SparseSums, "moments", lambda *a: (used.append(1), original(*a))[1])
    problem, x, y, w = problem_of(MinimumErrorEntropy(1e-4), 37)
    problem.gradient(w, problem.records(x, y))
    assert used


def test_a_subclass_with_other_formulas_is_not_summed_by_the_parents() -> None:
    class Wider(MinimumErrorEntropy):
        convex = False

        def slope(self, e: Any) -> Any:
            return 2 * super().slope(e)

    problem, x, y, _ = problem_of(Wider(), 5)
    assert isinstance(risk(problem.loss, problem.records(x, y)), DesignRisk)


@pytest.mark.parametrize("loss", [loss for loss, _ in LOSSES], ids=repr)
def test_the_sensitivity_of_the_gradient_holds_and_is_nearly_attained(loss: PairwiseLoss) -> None:
    n = 6
    problem, _, _, w = problem_of(loss, n)
    x, y = np.tile([1.0, 0.0, 0.0], (n, 1)), np.zeros(n)  # all others are one partner
    size = 1.0
    if isinstance(loss, MinimumErrorEntropy):
        x[0], size = -x[0], min(loss.bandwidth, 1.0)
    ends = []
    for label in (-size, size) if not loss.matrix else (0, 1):
        y[0] = label
        ends.append(problem.gradient(0 * w, problem.records(x, y)))
    allowed = problem.sensitivity(n)
    assert 0.7 * allowed < np.linalg.norm(ends[0] - ends[1]) <= allowed
    rng = np.random.default_rng(1)
    for _ in range(10):
        x, y = rng.normal(size=(n, 3)), rng.integers(-1, 2, n)
        one = problem.gradient(w, problem.records(x, y))
        x[0], y[0] = rng.normal(size=3), rng.integers(-1, 2)
        assert np.linalg.norm(one - problem.gradient(w, problem.records(x, y))) <= allowed
