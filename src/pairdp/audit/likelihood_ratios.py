"""Likelihood ratios of noisy values on two neighbouring data sets.

Densities are those of the ideal noise, before rounding to the grid. At released values, which lie
on the grid, their ratio is a statistic like any other: what is counted with it is valid evidence.
It is also as good as the exact one, but for steps of the grid, which are far below the noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairdp.privacy import (
    GaussianMechanism,
    KNormMechanism,
    L1LaplaceMechanism,
    LaplaceMechanism,
    Mechanism,
    NoMechanism,
)

Array = NDArray[np.float64]


def log_likelihood_ratio(mechanism: Mechanism, noisy: Array, one: Array, other: Array) -> float:
    """Return the log of the density of a noisy value given the other value over that given the one.

    Without noise it is ±inf, or 0 where both values equal the noisy one or neither does.
    """
    ratio = float(_ratios(mechanism, noisy - one, noisy - other))
    return 0.0 if math.isnan(ratio) else ratio


def distance_in_noise(mechanism: Mechanism, one: Array, other: Array) -> float:
    """Return the distance of two values in units of the noise: μ, or ε for pure noise."""
    moved = np.ravel(other) - np.ravel(one)
    if isinstance(mechanism, NoMechanism):
        return math.inf if np.any(moved) else 0.0
    size = (
        np.abs(moved).sum()
        if isinstance(mechanism, LaplaceMechanism | L1LaplaceMechanism)
        else _norm(moved)
    )
    return float(size) / mechanism.scale


def _norm(values: Array) -> Array:
    return np.asarray(np.sqrt(np.sum(values * values, axis=-1)))


def _ratios(mechanism: Mechanism, from_one: Array, from_other: Array) -> Array:
    """Return ln p_other/p_one from the residuals to both centres, along the last axis."""
    if isinstance(mechanism, GaussianMechanism):
        # (|a|² - |b|²)/2 without cancellation of large squares.
        difference = (from_one - from_other) * (from_one + from_other)
        return np.asarray(np.sum(difference, axis=-1) / (2 * mechanism.scale**2))
    if isinstance(mechanism, KNormMechanism):
        return np.asarray((_norm(from_one) - _norm(from_other)) / mechanism.scale)
    if isinstance(mechanism, LaplaceMechanism | L1LaplaceMechanism):
        sizes = np.abs(from_one).sum(axis=-1) - np.abs(from_other).sum(axis=-1)
        return np.asarray(sizes / mechanism.scale)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log(_norm(from_one)) - np.log(_norm(from_other)))


@dataclass(frozen=True, eq=False)
class NoisyValue:
    """A value that is released with noise, on two data sets.

    Attributes
    ----------
    mechanism : Mechanism
        Its noise.
    one, other : array
        The value on the one data set and on the other.
    """

    mechanism: Mechanism
    one: Array
    other: Array

    def log_ratios(self, count: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Draw log-likelihood ratios: those of releases on the one data set, and on the other."""
        moved = np.ravel(self.other) - np.ravel(self.one)
        if isinstance(self.mechanism, GaussianMechanism):
            return self._gaussian(float(_norm(moved)), count, rng)
        # One function of the noisy value: with other roundings, atoms of the ratio would differ.
        one, other = np.ravel(self.one), np.ravel(self.other)
        here, there = (
            _ratios(self.mechanism, noisy - one, noisy - other)
            for value in (one, other)
            for noisy in (_noisy(self.mechanism, value, count, rng),)
        )
        return here, there

    def _gaussian(self, size: float, count: int, rng: np.random.Generator) -> tuple[Array, Array]:
        # Only the component of the noise along the difference of the two values matters.
        if not isinstance(self.mechanism, GaussianMechanism):
            raise TypeError("the mechanism has no Gaussian noise")
        variance = self.mechanism.scale**2
        here, there = (self.mechanism.noise(count, rng) for _ in range(2))
        half = size * size / (2 * variance)
        return here * (size / variance) - half, there * (size / variance) + half


def composed_distance(values: Iterable[NoisyValue]) -> float:
    """Return the distance of several noisy values: root of the sum of squares; sum for pure."""
    squares, pure = 0.0, 0.0
    for value in values:
        moved = distance_in_noise(value.mechanism, value.one, value.other)
        if isinstance(value.mechanism, KNormMechanism | LaplaceMechanism | L1LaplaceMechanism):
            pure += moved
        else:
            squares += moved**2
    return math.sqrt(squares) + pure


def _noisy(mechanism: Mechanism, value: Array, count: int, rng: np.random.Generator) -> Array:
    """Return noisy values on the grid of the mechanism, as they are released.

    Sums in floating point would have other roundings around another value, which tell the two
    apart: an audit would find in its own noise what the noise of the mechanism does not have.
    """
    noise = _draw(mechanism, value.size, count, rng)
    if isinstance(mechanism, NoMechanism):
        return np.asarray(value + noise)
    steps = np.round(value / mechanism.grid) + np.round(noise / mechanism.grid)
    return np.asarray(steps * mechanism.grid)


def _draw(mechanism: Mechanism, dimension: int, count: int, rng: np.random.Generator) -> Array:
    """Return many noise vectors of the mechanism's distribution."""
    if isinstance(mechanism, KNormMechanism):
        directions = rng.standard_normal((count, dimension))
        radii = rng.gamma(dimension, mechanism.scale, count)
        return np.asarray(directions * (radii / _norm(directions))[:, None])
    if isinstance(mechanism, LaplaceMechanism | L1LaplaceMechanism):
        return rng.laplace(0.0, mechanism.scale, (count, dimension))
    return np.zeros((count, dimension))
