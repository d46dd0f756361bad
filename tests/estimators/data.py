"""Small data for estimators, inside the unit ball."""

from __future__ import annotations

from typing import Any

import numpy as np

from pairdp import Budget, default_delta

# Few records in tests, and a metric that stays Euclidean is not what they are about.
FEW_RECORDS = "ignore::pairdp.NoSignalWarning"


def budget_of(model: Any, n: int, share: float = 1.0) -> Budget:
    """The budget of a model's parameters for n records, or a share of its ε."""
    delta = default_delta(n) if model.delta is None else model.delta
    return Budget(model.epsilon * share, delta)


def two_classes(n: int = 400, d: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    x = (rng.normal(size=(n, d)) + np.outer(2 * y - 1, np.eye(d)[0])) / 4
    return x, y


def three_classes(n: int = 450, d: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    x = rng.normal(size=(n, d)) / 6 + np.outer(y - 1, np.eye(d)[0]) / 2
    return x, y
