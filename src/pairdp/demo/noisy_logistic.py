"""Logistic regression by noisy gradient descent, the usual private model, for comparison."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from pairdp.privacy.accounting.gaussian import gdp_mu

Array = NDArray[np.float64]
STEPS, CLIP, STEP_SIZE = 100, 0.5, 32.0
"""The best of 27 combinations on the synthetic families that this library was tuned on."""


def noisy_logistic(
    rows: Array, positive: NDArray[np.bool_], budget: tuple[float, float], seed: int
) -> Array:
    """Return the weights of logistic regression by noisy gradient descent (DP-GD) on all records.

    The mean of gradients that are clipped to norm C moves by at most 2C/n if a record is replaced;
    T of them are µ-GDP for σ = 2C√T/(nµ). The last half of the iterates is averaged. The noise is
    floating-point noise from a seed: this is for comparisons on public data only.

    Parameters
    ----------
    rows : array of shape (n, d)
        Records in the unit ball.
    positive : array of shape (n,)
        Whether a record is of the second class.
    budget : (float, float)
        ε and δ.
    seed : int
        Of the noise.

    Returns
    -------
    array of shape (d + 1,)
        One weight for each feature, then the intercept.
    """
    x = np.column_stack([rows, np.ones(len(rows))])
    rng = np.random.default_rng([seed, 1])
    deviation = 2 * CLIP * math.sqrt(STEPS) / (len(x) * gdp_mu(*budget))
    weights, total = np.zeros(x.shape[1]), np.zeros(x.shape[1])
    lengths = np.linalg.norm(x, axis=1)
    for step in range(STEPS):
        slopes = expit(x @ weights) - positive
        slopes *= np.minimum(1.0, CLIP / np.maximum(np.abs(slopes) * lengths, 1e-12))
        gradient = x.T @ slopes / len(x) + deviation * rng.normal(size=weights.size)
        weights = weights - STEP_SIZE * gradient
        total += weights * (step >= STEPS // 2)
    return total
