"""Points that are smoothed and shrunk: functions of what was released, whatever the values are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pairdp import Budget
from pairdp.algorithms import Fit, Scorecard
from pairdp.algorithms.scorecard.cells import CategoryCells, NumberCells
from pairdp.algorithms.scorecard.shrinkage import Pulled, smoothing_matrix
from pairdp.privacy import NoiseSource

N = 3000
RNG = np.random.default_rng(0)
Y = np.where(RNG.random(N) < 0.4, 1.0, -1.0)
X = np.clip((RNG.normal(size=(N, 3)) + np.outer(Y, [1, 0.5, 0])) / 5, -1, 1)
COLUMNS = (NumberCells(0, -1, 1, missing=3), CategoryCells((0, 1, 2)), NumberCells(2, -1, 1))


BUDGET = Budget(4.0, 1e-6)


def run(budget: Budget = BUDGET, **options: Any) -> Fit:
    algorithm = Scorecard(**options)
    problem = algorithm.own_problem(1.0)
    return algorithm.plan(problem, N, 3, budget).run(problem.records(X, Y), NoiseSource(1))


def test_all_values_are_functions_of_one_release() -> None:
    """A plan with other values gives from another's fit what its own run gives with that noise."""
    cases: list[tuple[Budget, dict[str, Any]]] = [
        (BUDGET, {}),
        (Budget(4.0), {"interactions": True}),
        (Budget(0.05, 1e-6), {"pairs": ((0, 1),)}),
    ]
    for budget, products in cases:
        plain = run(budget, **products)
        for smoothing, shrinkage in ((0.0, 0.5), (2.0, 0.0), (0.3, 1.0)):
            given_options = {**products, "smoothing": smoothing, "shrinkage": shrinkage}
            own = run(budget, **given_options)
            algorithm = Scorecard(**given_options)
            plan = algorithm.plan(algorithm.own_problem(1.0), N, 3, budget)
            assert plan.certificate.releases == plain.certificate.releases
            found = plan.from_release(plain)
            assert found is not None
            assert found.certificate == own.certificate
            np.testing.assert_array_equal(found.parameters, own.parameters)
            for name in Scorecard.score_statistics:
                np.testing.assert_array_equal(found.statistics[name], own.statistics[name])


def test_without_them_points_are_those_learned() -> None:
    fit = run()
    np.testing.assert_array_equal(fit.parameters, fit.statistics["learned points"])
    shrunk = run(shrinkage=1.0)
    np.testing.assert_array_equal(shrunk.parameters, fit.statistics["naive points"])
    assert not np.array_equal(shrunk.parameters, fit.parameters)


def test_strong_smoothing_gives_each_column_one_value() -> None:
    smooth = run(smoothing=1e9)
    for points in np.split(
        smooth.parameters[:-1], np.cumsum(smooth.statistics["bins"])[:-1].astype(int)
    ):
        np.testing.assert_allclose(points, points[0], atol=1e-5)


@given(
    st.sampled_from(COLUMNS),
    arrays(np.float64, 6, elements=st.floats(0, 1e6)),
    arrays(np.float64, 6, elements=st.floats(-10, 10)),
    st.floats(1e-6, 1e6),
)
def test_smoothing_is_the_stated_minimum(
    column: Any, counts: np.ndarray, points: np.ndarray, strength: float
) -> None:
    counts = counts + 1e-3 * max(counts.sum(), 1.0)
    matrix = smoothing_matrix(column, counts, strength)
    assert np.all(matrix >= -1e-9)
    np.testing.assert_allclose(matrix.sum(axis=1), 1.0, atol=1e-8)
    weights = counts / counts.sum()
    np.testing.assert_allclose(weights @ matrix, weights, atol=1e-8)  # it keeps the mean

    near = np.zeros((6, 6))
    for b in range(6):
        for c in range(6):
            ordered = isinstance(column, NumberCells) and max(b, c) < 6 - (
                column.missing is not None
            )
            near[b, c] = abs(b - c) == 1 if ordered else (b != c) / 6

    def loss(q: np.ndarray) -> float:
        pulled = near * (q[:, None] - q) ** 2
        return float(6 * weights @ (q - points) ** 2 + strength * pulled.sum() / 2)

    smooth = matrix @ points
    rng = np.random.default_rng(0)
    least = loss(smooth)
    for scale in (1e-3, 1.0):
        assert least <= loss(smooth + scale * rng.normal(size=6)) + 1e-9 * (1 + abs(least))


def test_deviations_are_upper_bounds() -> None:
    """The noise of smoothed points is no larger than stated, however that of points depends."""
    rng = np.random.default_rng(0)
    sizes, counts = np.array([6.0, 3.0, 6.0]), rng.integers(1, 500, 15).astype(float)
    for mixing in (np.eye(15), rng.normal(size=(15, 15)), np.ones((15, 15))):
        noise = rng.normal(size=(4000, 15)) @ mixing
        stated = np.sqrt((mixing**2).sum(axis=0))
        pulled = [Pulled(each, stated).smoothed(COLUMNS, sizes, counts, 2.0) for each in noise]
        spread = np.std([each.points for each in pulled], axis=0)
        assert np.all(spread <= 1.1 * pulled[0].deviations)


@pytest.mark.parametrize(
    "wrong", [{"smoothing": -1.0}, {"smoothing": np.inf}, {"shrinkage": 1.5}, {"shrinkage": -0.1}]
)
def test_wrong_values_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be"):
        Scorecard(**wrong)  # type: ignore[arg-type]
