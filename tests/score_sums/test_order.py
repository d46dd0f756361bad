"""The fast argsort sorts, whatever the values, and keeps its promise on ties."""

from __future__ import annotations

import numpy as np
import pytest

from pairdp.score_sums.order import ascending_order

RNG = np.random.default_rng(0)
N = 60_000
CASES = {
    "normal": RNG.normal(size=N),
    "all equal": np.full(N, -0.25),
    "two values": RNG.choice([-1.0, 2.0], N),
    "signed zeros": RNG.choice([-0.0, 0.0, 1e-310, -1e-310], N),
    "near ties": 1.0 + RNG.integers(0, 50, N) * 2.0**-52,
    "some ties": np.where(RNG.random(N) < 0.1, 0.5, RNG.normal(size=N)),
    "all sizes": RNG.normal(size=N) * 10.0 ** RNG.uniform(-300, 300, N),
    "extremes": RNG.choice([1.7e308, -1.7e308, 5e-324, -5e-324], N),
    "small": RNG.normal(size=300),
    "one": np.zeros(1),
    "none": np.zeros(0),
}


@pytest.mark.parametrize("values", CASES.values(), ids=CASES)
def test_order(values: np.ndarray) -> None:
    later = RNG.integers(0, 2, values.size)
    kept = values.copy()
    order = ascending_order(values, later)
    np.testing.assert_array_equal(values, kept)
    np.testing.assert_array_equal(np.sort(order), np.arange(values.size))
    expected = np.lexsort((later, values))
    np.testing.assert_array_equal(values[order], values[expected])
    np.testing.assert_array_equal(later[order], later[expected])
