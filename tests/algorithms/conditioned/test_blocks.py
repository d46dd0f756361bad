"""Linear features that are not computed, against those in a table."""

from __future__ import annotations

import numpy as np
import pytest

from pairdp._sums import BLOCK
from pairdp.algorithms.conditioned.descent import Rows
from pairdp.algorithms.conditioned.features import Features
from pairdp.algorithms.conditioned.location import distances


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("d", [1, 3, 150])
@pytest.mark.parametrize("n", [0, 5, BLOCK + 9])
def test_linear_features_are_those_of_a_table(n: int, d: int, intercept: bool) -> None:
    rng = np.random.default_rng(d)
    x, centre = rng.normal(size=(n, d)), rng.normal(size=d)
    features = Features("linear", centre, np.full(d, np.sqrt(d)), intercept)
    expected = features.rows(x)
    weights, coefficients = rng.normal(size=features.size), rng.normal(size=n)
    rows = Rows.of(features, x, np.ones(n), np.ones(n))
    assert rows.kept is None
    seen = 0
    for some, block in rows.blocks():
        table = expected[some]
        np.testing.assert_allclose(block.table(), table, rtol=1e-13)
        np.testing.assert_allclose(block.scores(weights), table @ weights, atol=1e-12)
        total = block.total(coefficients[some])
        np.testing.assert_allclose(total, coefficients[some] @ table, atol=1e-11)
        assert np.linalg.norm(block.table(), axis=1).max() <= 1 + 1e-14 * d
        seen += len(table)
    assert seen == n
    np.testing.assert_allclose(distances(x, centre), np.linalg.norm(x - centre, axis=1))
    known = Rows.of(features, x, rows.y, rows.counted, distances(x, centre))
    np.testing.assert_array_equal(known.factors, rows.factors)


def test_features_with_different_scales_are_kept() -> None:
    features = Features("linear", np.zeros(2), np.array([1.0, 2.0]))
    rows = Rows.of(features, np.eye(2), np.ones(2), np.ones(2))
    assert rows.kept is not None
    np.testing.assert_array_equal(rows.kept, features.rows(np.eye(2)))
