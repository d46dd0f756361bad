"""Small data for estimators, inside the unit ball."""

from __future__ import annotations

import numpy as np


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
