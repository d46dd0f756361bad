"""Small problems, and their minimisers without one record."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairdp.diagnostics import non_private_minimizer
from pairdp.problem import Problem
from pairdp.records import Records

Array = NDArray[np.float64]


def data(n: int, d: int = 3, seed: int = 0) -> tuple[Array, Array]:
    """Return rows, some of norm above 1, and labels that depend on them."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)) / 2
    return x, np.where(x[:, 0] + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)


def records_without(problem: Problem, x: Array, y: NDArray[Any], i: int) -> Records:
    """Return the records with one of them null."""
    rows = x.copy()
    rows[i] = np.nan
    return problem.records(rows, y, invalid="null")


def refits(problem: Problem, x: Array, y: NDArray[Any], removed: range) -> Array:
    """Return the minimisers without each of some records."""
    return np.array(
        [non_private_minimizer(problem, records_without(problem, x, y, i)) for i in removed]
    )
