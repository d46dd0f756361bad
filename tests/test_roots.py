"""Roots, compared with scipy's to the last bit."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import optimize
from scipy.special import ndtr

from pairdp._roots import brentq

FUNCTIONS = {
    "line": lambda x, c: x - c,
    "cubic": lambda x, c: (x - c) ** 3,
    "steep": lambda x, c: math.expm1(40 * (x - c)),
    "flat": lambda x, c: math.atan(1e-6 * (x - c)),
    "step": lambda x, c: 1.0 if x > c else -1.0,
    "tail": lambda x, c: float(ndtr(-x) - ndtr(-c)),
    "tiny": lambda x, c: 1e-300 * (x - c),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_roots_are_those_of_scipy_to_the_last_bit(name: str) -> None:
    rng = np.random.default_rng(list(FUNCTIONS).index(name))
    function = FUNCTIONS[name]
    for _ in range(200):
        c = rng.normal() * 10 ** rng.uniform(-3, 0.5)
        a, b = c - 10 ** rng.uniform(-3, 0.8), c + 10 ** rng.uniform(-3, 0.8)
        options = {"xtol": 10 ** rng.uniform(-15, -3), "rtol": rng.choice([8.9e-16, 1e-9, 1e-4])}
        wanted = optimize.brentq(function, a, b, args=(c,), maxiter=500, **options)
        assert brentq(lambda x, c=c: function(x, c), a, b, maxiter=500, **options) == wanted
        assert brentq(lambda x, c=c: function(x, c), b, a, maxiter=500, **options) == (
            optimize.brentq(function, b, a, args=(c,), maxiter=500, **options)
        )


def test_ends_that_are_roots_and_ends_that_are_none() -> None:
    assert brentq(lambda x: x, 0.0, 1.0) == 0.0
    assert brentq(lambda x: x - 1, 0.0, 1.0) == 1.0
    with pytest.raises(ValueError, match="different signs"):
        brentq(lambda x: x + 1, 0.0, 1.0)
    with pytest.raises(ValueError, match="not a number"):
        brentq(lambda x: math.nan, 0.0, 1.0)
    with pytest.raises(RuntimeError, match="in 3 steps"):
        brentq(lambda x: math.expm1(40 * (x - 0.3)), 0.0, 1.0, maxiter=3)
